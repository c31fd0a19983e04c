"""Little stories with two people each, as a file of JSON lines."""

import json
import random

import pytest

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.coref.task import Coreference
from spanwise.tasks.model import TaskModel
from spanwise.text.tokenizers import Tokenizer

PEOPLE = ["Mary", "John", "Anna", "Peter"]
PRONOUN = {"Mary": "She", "Anna": "She", "John": "He", "Peter": "He"}


def story(number):
    """Two people who meet: twelve words in three sentences, two clusters of three mentions."""
    a, b = random.Random(number).sample(PEOPLE, 2)
    return {
        "doc_key": f"{'bn' if number % 2 else 'nw'}/story/{number}",
        "sentences": [[a, "met", b, "."], [PRONOUN[a], "likes", b, "."], [b, "likes", a, "."]],
        "speakers": [["one"] * 4, ["two"] * 4, ["one"] * 4],
        "clusters": [[[0, 0], [4, 4], [10, 10]], [[2, 2], [6, 6], [8, 8]]],
    }


@pytest.fixture(scope="session")
def stories(tmp_path_factory):
    """A file of 12 stories."""
    path = tmp_path_factory.mktemp("stories") / "stories.jsonl"
    path.write_text("".join(json.dumps(story(number)) + "\n" for number in range(12)))
    return path


@pytest.fixture(scope="session")
def small_task():
    """Segments of 16 tokens, so that stories of some thirty pieces have several."""
    return Coreference(max_segment_length=16, ffn_size=12, feature_size=4, spans_per_piece=1.0, num_antecedents=6)


@pytest.fixture(scope="session")
def small_encoder(tokenizer):
    config = EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=16,
        num_layers=1,
        num_heads=2,
        intermediate_size=16,
        max_positions=64,
        initializer_range=0.5,
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=1)
    return encoder


@pytest.fixture(scope="session")
def small_model(small_task, small_encoder):
    """An untrained model with large weights."""
    config = small_encoder.config
    head = small_task.build_head(config)
    initialize(head, config, seed=2)
    return TaskModel(small_task, small_encoder, head)


@pytest.fixture(scope="session")
def encoder_folder(small_encoder, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "model"
    write_folder(folder, FolderContent(small_encoder, {}, tokenizer))
    return folder


@pytest.fixture(scope="session")
def story_folder(tmp_path_factory):
    """An encoder that knows every word of the stories as one piece."""
    folder = tmp_path_factory.mktemp("story-encoder")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PEOPLE, "He", "She", "met", "likes", "."]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = Tokenizer.load(folder)
    values = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "intermediate_size": 64, "max_positions": 64}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **values))
    initialize(encoder, encoder.config, seed=1)
    write_folder(folder / "model", FolderContent(encoder, {}, tokenizer))
    return folder / "model"
