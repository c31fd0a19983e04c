"""The entries of a pre-training run in the list of what its weights learned from."""

import pytest
from tests.pretraining.test_run import tiny_recipe

from spanwise.errors import ConfigError
from spanwise.interop.record import read_record
from spanwise.pretraining.learned import check_origins, learned_texts
from spanwise.pretraining.mixtures.mixture import mixture_of
from spanwise.pretraining.run import pretrain
from spanwise.weights.learned_from import LEARNED_FROM, Origin


def test_a_store_is_counted_and_several_texts_of_one_store_are_not(tiny_store):
    mixture, origin = mixture_of(tiny_store), Origin(licence="MIT", source="a friend")
    (store,) = learned_texts(mixture, None, [origin])
    assert (store.file, store.what, store.licence, store.source) == ("store", "text", "MIT", "a friend")
    assert (store.count, store.unit) == (tiny_store.num_tokens, "tokens")
    (alone,) = learned_texts(mixture, "/home/me/a.txt", ())
    assert (alone.file, alone.count, alone.licence) == ("a.txt", tiny_store.num_tokens, "not stated")
    both = learned_texts(mixture, ["a.txt", "b.txt"], [origin])
    assert [(one.file, one.count, one.licence) for one in both] == [("a.txt", None, "MIT"), ("b.txt", None, "MIT")]


def test_origins_that_match_neither_stores_nor_texts_are_refused():
    check_origins([Origin()] * 2, num_stores=2, text=None)
    with pytest.raises(ConfigError, match="came for 1 stores"):
        check_origins([Origin()] * 2, num_stores=1, text=None)
    with pytest.raises(ConfigError, match="came for 3 texts"):
        check_origins([Origin()] * 2, num_stores=1, text=["a", "b", "c"])


def test_a_run_that_goes_on_keeps_the_list_and_adds_its_text(tiny_store, tmp_path):
    asked = {"data": tiny_store.path}
    first = pretrain(tiny_recipe(max_steps=2), **asked, out=tmp_path / "a", origins=[Origin(licence="MIT")])
    listed = read_record(first.final)[LEARNED_FROM]
    assert [(one["file"], one["licence"], one["count"]) for one in listed] == [("store", "MIT", tiny_store.num_tokens)]
    second = pretrain(
        tiny_recipe(max_steps=2), **asked, out=tmp_path / "b", init=first.final, origins=[Origin(file="more")]
    )
    assert [one["file"] for one in read_record(second.final)[LEARNED_FROM]] == ["store", "more"]
    assert (
        f"- store (text, {tiny_store.num_tokens:,} tokens). Licence: MIT." in (second.final / "README.md").read_text()
    )
