"""Small twins keep every part of the published system."""

import pytest

from spanwise import recipes
from spanwise.config import difference

TWINS = {
    "spanbert-mini": "spanbert-large",
    "spanbert-small": "spanbert-large",
    "bert-mini": "bert-base",
    "roberta-mini": "roberta-base",
    "albert-mini": "albert-base",
    "electra-mini": "electra-small",
    "gpt1-mini": "gpt1",
    "bert-small": "bert-base",
    "roberta-small": "roberta-base",
    "albert-small": "albert-base",
    "gpt1-small": "gpt1",
}
SIZES = {f"encoder.{name}" for name in ("num_layers", "hidden_size", "num_heads", "intermediate_size")}


@pytest.mark.parametrize("name", TWINS)
def test_only_size_batch_training_and_first_positions_differ(name):
    small, published = recipes.find(name), recipes.find(TWINS[name])
    changed = {path for path, _, _ in difference(small, published)}
    others = {path for path in changed - SIZES if path.split(".")[0] not in ("batch", "training", "initial")}
    assert others <= {"name", "tokenizer.vocab_size", "differences"}
    assert (small.encoder.num_layers, small.encoder.hidden_size) == (4, 512 if "-small" in name else 256)
    assert small.training.schedule == published.training.schedule
    commands = {line for line in published.differences if "--set length_warmup." in line}  # for the paper's own length
    assert set(published.differences) - commands < set(small.differences)
