"""A masking, a format and a corruption of a user's own train from the command line and are named in the record."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spanwise
from spanwise import recipes
from spanwise.cli.main import main
from spanwise.config.user_files import call_in_file
from spanwise.pretraining.system import outline_model, training_source

FILE = Path(__file__).parents[2] / "examples" / "my_parts.py"
TINY = """encoder.hidden_size=16 encoder.intermediate_size=32 encoder.num_layers=1 training.max_steps=3
training.eval_every=2 batch.max_tokens=512 batch.tokens_per_step=512 training.log_every=1"""


@pytest.mark.parametrize(
    ("function", "field", "part", "losses"),
    [
        ("one_run", "masking", "OneRun", {"mlm", "sbo"}),
        ("one_sentence", "format", "OneSentence", {"mlm", "sbo"}),
        ("random_tokens", "corruption", "RandomTokens", {"mlm", "rtd"}),
    ],
)
def test_a_part_of_ones_own_trains_is_measured_and_named(tiny_store, tmp_path, capsys, function, field, part, losses):
    assert main(["show", "recipe", f"{FILE}:{function}"]) == 0
    assert part in capsys.readouterr().out
    changes = [word for change in TINY.split() for word in ("--set", change)]
    store, run = str(tiny_store.path), tmp_path / "run"
    assert main(["pretrain", f"{FILE}:{function}", "--data", store, "--valid", store, "--out", str(run), *changes]) == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert all(f"{name}_loss" in lines[-1]["evaluation"] for name in losses)
    assert json.loads((run / "recipe.json").read_text())[field]["part"] == f"my_parts:{part}"
    assert spanwise.load(run / "final").encode(["The old river."])


def test_in_packs_of_one_shape_tokens_are_drawn_at_the_hidden_places_alone(tiny_store):
    recipe = call_in_file(f"{FILE}:random_tokens", "recipe")
    source = training_source(replace(recipe, batch=replace(recipe.batch, fixed=True)), tiny_store)
    masked = source.masked_step(0)[0]
    pack = source.collator.batch(masked)
    assert pack.num_padding and pack.counts["mlm"] < len(pack.targets["mlm"].ids)
    corruption = recipe.corruption.build(outline_model(recipe, tiny_store.vocabulary.size).encoder)
    found = corruption(pack)
    assert found.original_ids[: len(masked.pack.input_ids)].tolist() == masked.pack.input_ids.tolist()
    is_changed = (found.input_ids != pack.input_ids).nonzero().flatten().tolist()
    assert len(is_changed) > 10 and set(is_changed) <= set(masked.hidden.position.tolist())


def test_the_masking_hides_one_run_a_sequence_and_the_format_packs_single_sentences(tiny_store):
    masked = training_source(call_in_file(f"{FILE}:one_run", "recipe"), tiny_store).masked_step(0)[0]
    assert np.array_equal(masked.spans.sequence, np.arange(len(masked.pack.block_ids)))
    assert masked.pack.maskable[masked.hidden.position].all()
    pack = training_source(call_in_file(f"{FILE}:one_sentence", "recipe"), tiny_store).masked_step(0)[0].pack
    assert set(np.diff(pack.borders) - 2) <= set(tiny_store.sentence_lengths.tolist())
    assert len(recipes.spanbert_mini().format.gives) == 0
