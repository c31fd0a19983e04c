"""Selection is trained, stopped, resumed and begun from another objective, and its folder loads in transformers."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, QuestionTokens, RecurringGroups, TwoMaskings
from spanwise.pretraining.masking.replacement import Replacement
from spanwise.pretraining.objectives import SpanSelection
from spanwise.pretraining.run import pretrain
from spanwise.runtime.progress import RunLog
from test_run import tiny_recipe

GROUPS = RecurringGroups(frequent_share=1.0)  # the tiny text has forty words


def selecting(**training):
    return replace(
        tiny_recipe(**training),
        masking=GROUPS,
        replacement=QuestionTokens(),
        objectives={"span_selection": SpanSelection()},
    )


def beside(masking, **training):
    recipe = tiny_recipe(**training)
    return replace(
        recipe,
        masking=masking,
        replacement=QuestionTokens(others=Replacement()),
        objectives={**recipe.objectives, "span_selection": SpanSelection()},
    )


def weights_of(run) -> bytes:
    return (run / "final" / "model.safetensors").read_bytes()


def losses_of(run) -> list[dict]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{**line["losses"], "targets": line["targets"]} for line in lines if "losses" in line]


@pytest.mark.parametrize("following", ["moves_up", "stays"])
def test_a_stopped_run_goes_on_bit_for_bit(tiny_store, tmp_path, following):
    recipe = replace(
        selecting(max_steps=8, save_every=3, eval_every=None), replacement=QuestionTokens(following=following)
    )
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "whole")
    stopped = tmp_path / "stopped"
    pretrain(recipe, data=tiny_store.path, out=stopped)
    shutil.rmtree(stopped / "final")
    shutil.rmtree(stopped / "checkpoints" / "step-000000008")

    result = pretrain(recipe, data=tiny_store.path, out=stopped, resume=True)

    assert result.resumed_from == 6 and weights_of(stopped) == weights_of(tmp_path / "whole")
    assert losses_of(stopped) == losses_of(tmp_path / "whole") and len(losses_of(stopped)) == 8


def test_the_draws_do_not_hang_on_the_packs(tiny_store):
    """Other packs, and other places in them, ask the same questions of the same block."""
    from spanwise.pretraining.system import training_source

    def questions(max_tokens):
        recipe = selecting(max_steps=1)
        recipe = replace(recipe, batch=replace(recipe.batch, max_tokens=max_tokens))
        found = {}
        source = training_source(recipe, with_question(tiny_store))
        for pack in range(source.num_packs(0)):
            masked = source.masked(pack)
            for s, block in enumerate(masked.pack.block_ids.tolist()):
                first, last = masked.pack.borders[s : s + 2]
                found[block] = masked.input_ids[first:last].tolist()
        return found

    assert questions(128) == questions(500) and len(questions(128)) > 40


def with_question(store):
    from spanwise.data.token_store import TokenStore
    from spanwise.text.extend import with_roles

    return TokenStore.open(store.path, with_roles(store.tokenizer(), ("question",)))


def test_it_learns_to_find_what_recurs(tiny_text, tmp_path):
    result = pretrain(selecting(max_steps=30), text=tiny_text, valid=tiny_text, out=tmp_path / "run")
    assert result.evaluation["span_selection_loss"] < result.first_evaluation["span_selection_loss"] - 0.3
    theirs = transformers.SplinterForPreTraining.from_pretrained(tmp_path / "run" / "final").eval()
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "run" / "final")
    assert theirs.config.question_token_id == words.convert_tokens_to_ids("[QUESTION]")


@pytest.mark.parametrize(
    "masking",
    [
        TwoMaskings(first=GROUPS),
        MaskingMixture(schemes={"spans": GeometricSpans(), "questions": GROUPS}),
    ],
    ids=["same sequences", "other sequences"],
)
def test_all_losses_are_learned_in_one_step(tiny_store, tmp_path, masking):
    run = tmp_path / "run"
    pretrain(beside(masking, max_steps=3, eval_every=None), data=tiny_store.path, out=run)
    steps = losses_of(run)
    assert len(steps) == 3
    for step in steps:
        assert all(np.isfinite(step[name]) and step["targets"][name] for name in ("mlm", "sbo", "span_selection"))
    assert read_folder(run / "final").heads.keys() == {"mlm", "sbo", "span_selection"}


def test_it_goes_on_from_a_model_that_fills_gaps_and_keeps_its_heads(tiny_store, tmp_path):
    first = pretrain(tiny_recipe(max_steps=3), data=tiny_store.path, out=tmp_path / "first")
    stream = io.StringIO()
    second = pretrain(
        selecting(max_steps=3),
        data=tiny_store.path,
        out=tmp_path / "second",
        init=first.final,
        log=RunLog(tmp_path / "second", stream=stream),
    )
    said = " ".join(stream.getvalue().split())
    assert "fresh heads: span_selection" in said and "does not train mlm, sbo" in said
    before, after = read_folder(first.final), read_folder(second.final)
    assert after.source_class == "SplinterForPreTraining"
    assert after.heads.keys() == {"mlm", "sbo", "span_selection"}
    assert after.config.vocab_size == before.config.vocab_size + 1  # [QUESTION] follows the last id
    for name, tensor in before.heads["sbo"].items():
        assert torch.equal(after.heads["sbo"][name][: len(tensor)], tensor)  # one bias more, for the new piece
    third = pretrain(selecting(max_steps=1), data=tiny_store.path, out=tmp_path / "third", init=second.final)
    assert read_folder(third.final).config.vocab_size == after.config.vocab_size


def test_a_text_of_stop_words_is_told(tiny_store, tmp_path):
    recipe, stream = selecting(max_steps=1), io.StringIO()
    recipe = replace(recipe, masking=RecurringGroups())  # each of the forty words is frequent
    pretrain(recipe, data=tiny_store.path, out=tmp_path / "run", log=RunLog(tmp_path / "run", stream=stream))
    said = " ".join(stream.getvalue().split())
    assert "Nothing is hidden in the" in said and "raise masking.frequent_share" in said
