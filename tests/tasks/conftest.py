"""A small real tokenizer, an encoder with pre-training heads, and a few questions on own text."""

import json
import string

import pytest

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.grow import with_roles_for
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.init import initialize
from spanwise.tasks.qa.reader import parse_squad
from spanwise.tasks.run import finetune
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

FAST = [
    "training.num_epochs=60",
    "training.learning_rate=3e-3",
    "training.precision=fp32",
    "training.threads=1",
    "batch_size=8",
    "task.doc_stride=40",
    "hidden_dropout=null",
]
SHORT = [*FAST[1:], "training.max_steps=6"]
RIVER = (
    "The Han River (한강) flows through Seoul and is 494 km long. Its arms, the Namhan and the Bukhan, meet at "
    "Yangpyeong; the river turns north-west. In 1394 the court moved to its bank. Ferries crossed it "
    "until the first bridge, built for trains, opened in 1900. Today more than thirty bridges carry cars."
)
TEA = "Green tea from Boseong is picked in April. The first leaves are the dearest."


def squad_record(version="1.1"):
    def ask(id, question, context, *texts):
        return {
            "id": id,
            "question": question,
            "answers": [{"text": text, "answer_start": context.index(text)} for text in texts],
        }

    river = [
        ask("length", "How long is the Han?", RIVER, "494 km", "494 km long"),
        ask("bridge", "When did the first bridge open?", RIVER, "1900"),
        ask("arms", "Where do the arms meet?", RIVER, "Yangpyeong"),
    ]
    tea = [ask("tea", "When is Boseong tea picked?", TEA, "April")]
    if version != "1.1":
        tea.append({"id": "price", "question": "What does tea cost?", "answers": [], "is_impossible": True})
    return {
        "version": version,
        "data": [
            {"title": "Han", "paragraphs": [{"context": RIVER, "qas": river}]},
            {"title": "Tea", "paragraphs": [{"context": TEA, "qas": tea}]},
        ],
    }


@pytest.fixture(scope="session")
def vocabulary_folder(tmp_path_factory):
    """A folder that holds a cased `vocab.txt` and nothing else."""
    folder = tmp_path_factory.mktemp("vocabulary")
    signs = list(string.ascii_letters + string.digits + string.punctuation + "한강é中")
    words = ["The", "the", "Han", "River", "river", "Seoul", "bridge", "##ing", "##am", "In", "is", "and", "km", "Apr"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *("##" + sign for sign in signs), *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tokenizer(vocabulary_folder):
    return Tokenizer.load(vocabulary_folder)


@pytest.fixture(scope="session")
def squad11():
    return parse_squad(squad_record("1.1"), source="han-1.1.json")


@pytest.fixture(scope="session")
def squad20():
    return parse_squad(squad_record("v2.0"), source="han-2.0.json")


@pytest.fixture(scope="session")
def squad_files(tmp_path_factory):
    """Paths of the same questions as SQuAD 1.1 and 2.0 files."""
    folder = tmp_path_factory.mktemp("squad")
    paths = {version: folder / f"han-{version}.json" for version in ("1.1", "v2.0")}
    for version, path in paths.items():
        path.write_text(json.dumps(squad_record(version)), encoding="utf-8")
    return paths


@pytest.fixture(scope="session")
def pretrained_folder(tmp_path_factory, tokenizer):
    """A model folder as pre-training leaves it: encoder and masked-LM head, no head for a task."""
    folder = tmp_path_factory.mktemp("pretrained") / "model"
    config = EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        intermediate_size=64,
        max_positions=128,
        hidden_dropout=0.1,
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=1)
    head = MaskedLMHead(config, encoder.word_embedding)
    initialize(head, config, seed=2)
    write_folder(folder, FolderContent(encoder, {"mlm": head}, tokenizer))
    return folder


@pytest.fixture(scope="session")
def selection_folder(tmp_path_factory, pretrained_folder, tokenizer):
    """The same as after recurring span selection: [QUESTION] in the vocabulary, and a pointer that is trained."""
    folder = tmp_path_factory.mktemp("selection") / "model"
    checkpoint, words, _ = with_roles_for(read_folder(pretrained_folder), tokenizer, ["question"], seed=4)
    encoder = build_encoder(checkpoint)
    pointer = SpanSelectionHead(encoder.config)
    initialize(pointer, encoder.config, seed=3)
    heads = {"mlm": checkpoint.heads["mlm"], "span_selection": pointer}
    write_folder(folder, FolderContent(encoder, heads, words))
    return folder


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory, tiny_text):
    """A causal model folder with GPT-1's tokenizer: one special token, <unk>."""
    words = learn_tokenizer(tiny_text, vocab_size=200, kind="bpe", min_frequency=1)
    config = EncoderConfig(
        vocab_size=words.vocab_size,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        intermediate_size=128,
        max_positions=64,
        num_token_types=0,
        embedding_norm=False,
        causal=True,
        activation="gelu_tanh",
        norm_eps=1e-5,
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=3)
    folder = tmp_path_factory.mktemp("causal") / "model"
    write_folder(folder, FolderContent(encoder, {"clm": {}}, words))
    return folder


@pytest.fixture(scope="session")
def finetuned(pretrained_folder, squad_files, tmp_path_factory):
    """A run that has learnt the 2.0 questions by heart."""
    path = squad_files["v2.0"]
    out = tmp_path_factory.mktemp("finetuned") / "run"
    return finetune("qa", model=pretrained_folder, train=path, dev=path, out=out, overrides=FAST)
