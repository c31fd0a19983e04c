"""Training goes on from folders that transformers wrote, tokenizer included, and transformers loads what comes out."""

import io
import json
from dataclasses import replace

import pytest
import torch
import transformers

from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder
from spanwise.interop.load import load
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import ContiguousText, FullSentences, OrderedPair, SentencePair, SplitSegments
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.objectives import (
    CausalLM,
    MaskedLM,
    NextSentence,
    ReplacedToken,
    SentenceOrder,
    SpanBoundary,
)
from spanwise.pretraining.run import pretrain
from spanwise.runtime.progress import RunLog
from spanwise.text.tokenizers import Tokenizer
from test_run import tiny_recipe

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
POSITIONS = {"max_position_embeddings": 64}
THEIRS = {
    "bert": ("BertTokenizer", "BertForPreTraining", POSITIONS),
    "roberta": ("RobertaTokenizer", "RobertaForMaskedLM", {"max_position_embeddings": 66, "type_vocab_size": 1}),
    "albert": ("AlbertTokenizer", "AlbertForPreTraining", {**POSITIONS, "embedding_size": 16}),
    "discriminator": ("ElectraTokenizer", "ElectraForPreTraining", {**POSITIONS, "embedding_size": 16}),
    "generator": ("ElectraTokenizer", "ElectraForMaskedLM", {**POSITIONS, "embedding_size": 16}),
    "splinter": ("SplinterTokenizer", "SplinterForPreTraining", POSITIONS),
    "gpt1": (
        "OpenAIGPTTokenizer",
        "OpenAIGPTLMHeadModel",
        {"n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2},
    ),
}
TEXT = (
    "The old river ran past a stone bridge, and into the quiet town where people sold bread.\n"
    "In the market the keeper of the mill went home early. Children played along the water. Nobody saw them!\n\n"
)
OBJECTIVES = {
    "boundary": {"objectives": [MaskedLM(), SpanBoundary()]},
    "sentences": {"objectives": [MaskedLM()], "format": FullSentences(max_length=64)},
    "next": {"objectives": [MaskedLM(), NextSentence()], "format": SentencePair(max_length=64), "pooler": True},
    "order": {"objectives": [MaskedLM(), SentenceOrder()], "format": OrderedPair(max_length=64), "pooler": True},
    "replaced": {
        "objectives": [ReplacedToken()],
        "format": SplitSegments(max_length=64),
        "corruption": Generator(size=0.5),
    },
    "causal": {
        "objectives": [CausalLM()],
        "format": ContiguousText(max_length=64),
        "masking": NoMasking(),
        "replacement": NoReplacement(),
        "causal": True,
    },
}
WAYS = [
    ("bert", "boundary", "BertForMaskedLM", ("sbo",)),
    ("bert", "next", "BertForPreTraining", ()),
    ("roberta", "boundary", "RobertaForMaskedLM", ("sbo",)),
    ("roberta", "sentences", "RobertaForMaskedLM", ()),
    ("albert", "boundary", "AlbertForMaskedLM", ("sbo",)),
    ("albert", "order", "AlbertForPreTraining", ()),
    ("discriminator", "replaced", "ElectraForPreTraining", ("generator",)),
    ("discriminator", "boundary", "ElectraForMaskedLM", ("mlm", "sbo")),
    ("generator", "boundary", "ElectraForMaskedLM", ("sbo",)),
    ("gpt1", "causal", "OpenAIGPTLMHeadModel", ()),
]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Folders of transformers by system, random weights and a tokenizer of its kind; made when first asked for."""
    made = {}

    def get(system):
        if system in made:
            return made[system]
        tokenizer_name, model_name, changes = THEIRS[system]
        blank = getattr(transformers, tokenizer_name)()
        tokenizer = blank.train_new_from_iterator(TEXT.splitlines() * 5, vocab_size=330, show_progress=False)
        cls = getattr(transformers, model_name)
        ids = {"vocab_size": len(tokenizer)}
        if system != "gpt1":
            roles = {"pad": "pad", "bos": "cls", "eos": "sep"}
            ids |= {f"{theirs}_token_id": getattr(tokenizer, f"{role}_token_id") for theirs, role in roles.items()}
        if system == "splinter":
            ids["question_token_id"] = tokenizer.question_token_id
        torch.manual_seed(0)
        made[system] = folder = tmp_path_factory.mktemp(system)
        cls(cls.config_class(**{**({} if system == "gpt1" else SIZES), **ids, **changes})).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return get


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT * 20)
    return path


def recipe_of(way):
    parts = dict(OBJECTIVES[way])
    shape = {name: parts.pop(name) for name in ("pooler", "causal") if name in parts}
    recipe = tiny_recipe(max_steps=2)
    objectives = {part.name: part for part in parts.pop("objectives")}
    if "causal" in shape:
        shape |= {"embedding_norm": False, "num_token_types": 0}
    return replace(recipe, encoder=replace(recipe.encoder, **shape), objectives=objectives, **parts)


def assert_transformers_agrees(final, tokenizer_before):
    """The named class loads with nothing missing; hidden states and ids are equal on both sides."""
    name = json.loads((final / "config.json").read_text())["architectures"][0]
    _, report = getattr(transformers, name).from_pretrained(final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    theirs, ours = transformers.AutoModel.from_pretrained(final).eval(), load(final)
    tokenizer = transformers.AutoTokenizer.from_pretrained(final)
    line = "The old river, and people along the stone bridge!"
    ids = tokenizer(line)["input_ids"]
    assert tokenizer_before is None or ids == tokenizer_before(line)["input_ids"]
    assert ours.tokenizer.encode(line).ids.tolist() == tokenizer(line, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        expected = theirs(torch.tensor([ids])).last_hidden_state
        torch.testing.assert_close(ours(torch.tensor([ids])), expected, atol=1e-5, rtol=1e-5)
    assert tokenizer.model_max_length <= ours.config.max_positions
    return name


def test_going_on_from_splinter_keeps_the_pointer_and_the_question_token(folder_of, text, tmp_path):
    source = folder_of("splinter")
    before = Tokenizer.load(source)
    assert before.question_id >= 0
    result = pretrain(recipe_of("boundary"), text=text, init=source, out=tmp_path / "run")
    assert (
        assert_transformers_agrees(result.final, transformers.AutoTokenizer.from_pretrained(source))
        == "BertForMaskedLM"
    )
    first, second = read_folder(source), read_folder(result.final)
    assert second.heads.keys() == {"mlm", "sbo", "span_selection"}
    pointer = first.heads["span_selection"]
    assert all(torch.equal(pointer[name], second.heads["span_selection"][name]) for name in pointer)
    assert Tokenizer.load(result.final).question_id == before.question_id


@pytest.mark.parametrize(("system", "way", "architecture", "fresh"), WAYS)
def test_training_goes_on_with_what_the_encoder_allows(folder_of, text, tmp_path, system, way, architecture, fresh):
    source, shown = folder_of(system), io.StringIO()

    log = RunLog(tmp_path / "run", stream=shown)
    result = pretrain(recipe_of(way), text=text, init=source, out=tmp_path / "run", log=log)

    assert f"all tensors found and used; fresh heads: {', '.join(fresh) or 'none'}." in shown.getvalue()
    assert assert_transformers_agrees(result.final, transformers.AutoTokenizer.from_pretrained(source)) == architecture
    before, after = read_folder(source), read_folder(result.final)
    assert after.heads.keys() == before.heads.keys() | recipe_of(way).objectives.keys()
    assert after.report.missing == () == after.report.unexpected and after.model_type == before.model_type


@pytest.mark.parametrize("system", ["roberta", "albert", "gpt1"])
def test_every_kind_of_vocabulary_and_of_positions_grows(folder_of, text, tmp_path, system):
    way = {"gpt1": "causal", "albert": "order", "roberta": "boundary"}[system]
    source, longer = folder_of(system), ["encoder.max_positions=96", "format.max_length=96"]
    growth = {"add_tokens": ["stonemason", "market square"], "longer_positions": "tile", "overrides": longer}

    result = pretrain(recipe_of(way), text=text, init=source, out=tmp_path / "run", **growth)

    assert_transformers_agrees(result.final, None)
    before, after = read_folder(source), read_folder(result.final)
    tokenizer = transformers.AutoTokenizer.from_pretrained(result.final)
    assert len(tokenizer) == before.config.vocab_size + 2 == after.config.vocab_size
    assert after.config.max_positions == 96 == tokenizer.model_max_length
    new = tokenizer("a stonemason, the market square", add_special_tokens=False)["input_ids"]
    assert {before.config.vocab_size, before.config.vocab_size + 1} <= set(new)


@pytest.mark.parametrize(
    ("system", "way", "words"),
    [
        ("gpt1", "boundary", "encoder.causal=true a token sees what stands before it alone"),
        ("bert", "causal", "encoder.causal=false every token would see the one it must guess"),
        ("roberta", "next", "1 token types and format SentencePair writes 2; add --set format.num_token_types=1"),
    ],
)
def test_what_the_encoder_does_not_allow_is_refused_before_training(folder_of, text, tmp_path, system, way, words):
    with pytest.raises(CheckpointError, match=words):
        pretrain(recipe_of(way), text=text, init=folder_of(system), out=tmp_path / "run")
    assert not (tmp_path / "run" / "store").exists()  # no text was prepared in vain


def test_a_tokenizer_with_more_ids_than_rows_is_refused_before_text_is_prepared(folder_of, text, tmp_path):
    other, source = folder_of("roberta"), folder_of("bert")
    with pytest.raises(CheckpointError, match="vocabulary rows and the tokenizer 330 ids; they do not belong together"):
        pretrain(recipe_of("boundary"), text=text, init=source, tokenizer=other, out=tmp_path / "run")
    assert not (tmp_path / "run" / "store").exists()
