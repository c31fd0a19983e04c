"""Somebody's ModernBERT with mmBERT's kind of vocabulary: trained on with spans, fine-tuned on questions, loaded by
transformers again."""

import io
import json

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from spanwise.interop.huggingface import read_folder
from spanwise.interop.load import load
from spanwise.pretraining.run import pretrain
from spanwise.recipes import spanbert_modern_mini
from spanwise.runtime.progress import RunLog
from spanwise.tasks.run import finetune

TEXT = (
    "The old river ran past a stone bridge, and into the quiet town where people sold bread.\n"
    "In the market the keeper of the mill went home early. Children played along the water. Nobody saw them!\n\n"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
OVERRIDES = ["training.max_steps=2", "training.max_tokens=null", "training.precision=fp32", "training.threads=1"]
SHORT = ["format.max_length=64", "batch.tokens_per_step=256", "batch.max_tokens=128"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder of transformers: random weights, and BPE with byte fallback over text whose blanks are marks."""
    bpe = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    bpe.normalizer = normalizers.Replace(" ", "▁")
    bpe.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    bpe.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    roles = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    bpe.train_from_iterator(
        TEXT.splitlines() * 5,
        trainers.BpeTrainer(vocab_size=600, special_tokens=[*roles, *BYTES], show_progress=False),
    )
    content = json.loads(bpe.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] in roles]
    bpe = Tokenizer.from_str(json.dumps(content))
    bpe.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> $B <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<bos>", eos_token="<eos>", cls_token="<bos>", sep_token="<eos>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
    )  # fmt: skip
    config = transformers.ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=64, local_attention=8,
        pad_token_id=0, bos_token_id=2, eos_token_id=1, cls_token_id=2, sep_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("modernbert")
    transformers.ModernBertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def assert_transformers_agrees(folder, tokenizer):
    """Hidden states and ids are equal on both sides, for text that the vocabulary lacks too."""
    theirs, ours = transformers.AutoModel.from_pretrained(folder).eval(), load(folder)
    again = transformers.AutoTokenizer.from_pretrained(folder)
    for line in ("The old river, and people!", "A word of bytes: 한국"):
        ids = tokenizer(line)["input_ids"]
        assert again(line)["input_ids"] == ids
        assert ours.tokenizer.encode(line).ids.tolist() == tokenizer(line, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            expected = theirs(torch.tensor([ids])).last_hidden_state
            torch.testing.assert_close(ours(torch.tensor([ids])), expected, atol=1e-5, rtol=1e-5)


def test_it_trains_on_answers_questions_and_loads_again(source, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    (tmp_path / "text.txt").write_text(TEXT * 20)
    trained = pretrain(
        spanbert_modern_mini(),
        text=tmp_path / "text.txt",
        init=source,
        out=tmp_path / "pre",
        overrides=OVERRIDES + SHORT,
    ).final
    assert read_folder(trained).source_class == "ModernBertForMaskedLM" and "sbo" in read_folder(trained).heads
    assert_transformers_agrees(trained, tokenizer)

    context = "The old river ran past a stone bridge."
    question = {"id": "1", "question": "What ran?", "answers": [{"text": "river", "answer_start": 8}]}
    squad = {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": [question]}]}], "version": "1.1"}
    (tmp_path / "qa.json").write_text(json.dumps(squad))
    changes = [*OVERRIDES[:1], *OVERRIDES[2:], "task.max_length=48"]
    tuned = finetune("qa", model=trained, train=tmp_path / "qa.json", out=tmp_path / "qa", overrides=changes).final
    assert read_folder(tuned).source_class == "ModernBertForQuestionAnswering"
    _, report = transformers.AutoModelForQuestionAnswering.from_pretrained(tuned, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert_transformers_agrees(tuned, tokenizer)

    said, out = io.StringIO(), tmp_path / "marked"
    changes.append("task.shared_words=marked")
    finetune("qa", model=trained, train=tmp_path / "qa.json", out=out, overrides=changes, log=RunLog(out, stream=said))
    assert "No class of Hugging Face computes this encoder" in said.getvalue()  # before any step is made
