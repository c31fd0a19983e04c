"""Shares are read from what people write, and stores that cannot be mixed are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spanwise.data.prepare import prepare
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.mixtures.mixture import mixture_of, open_mixture, read_data
from spanwise.runtime.remote.paths import RemotePath
from spanwise.text.learn import learn_tokenizer


@pytest.fixture(scope="module")
def two(write_store):
    """A store of 300 tokens and one of 100."""
    return write_store([[[5] * 30] * 10]), write_store([[[6] * 10] * 10])


def test_shares_are_read_from_texts_mappings_and_lists():
    expected = [(Path("a"), 0.7), (Path("b/c"), 0.3)]
    assert read_data(["a:0.7", "b/c:0.3"]) == read_data({"a": 0.7, Path("b/c"): 0.3}) == expected
    assert read_data("a") == read_data(Path("a")) == read_data(["a"]) == [(Path("a"), None)]
    assert read_data(["a", Path("b")]) == [(Path("a"), None), (Path("b"), None)]
    assert read_data(["s3://b/c:0.7", "b:0.3"]) == [(RemotePath("s3://b/c"), 0.7), (Path("b"), 0.3)]
    assert str(read_data("s3://b/c")[0][0]) == "s3://b/c"
    assert read_data("C:\\stores\\wiki") == [(Path("C:\\stores\\wiki"), None)]


def test_a_folder_whose_name_ends_like_a_share_is_a_folder(tmp_path):
    (tmp_path / "a:0.7").mkdir()

    assert read_data(str(tmp_path / "a:0.7")) == [(tmp_path / "a:0.7", None)]


@pytest.mark.parametrize(("data", "words"), [
    (["a:0.7", "b"], "b has no share"),
    (["a:0", "b:1"], "share of a must be a number above 0"),
    ({"a": -1.0}, "share of a must be a number above 0"),
    (["a:nan"], "share of a"),
    (["a:inf", "b:1"], "share of a"),
    ({"a": "much"}, "share of a"),
    (["a:0.5", "./a:0.5"], "twice"),
    ([], "no store"),
])  # fmt: skip
def test_shares_that_make_no_sense_are_refused_before_a_file_is_opened(data, words):
    with pytest.raises(ConfigError, match=words):
        read_data(data)


def test_shares_add_up_to_1_and_are_by_size_where_none_is_given(two):
    large, small = (store.path for store in two)

    given = open_mixture({large: 3, small: 1.0})
    by_size = open_mixture([small, large])

    assert [part.share for part in given.parts] == [0.75, 0.25]
    assert [part.share for part in by_size.parts] == [0.25, 0.75]
    assert str(given).endswith("25.0%") and len({part.name for part in given.parts}) == 2


def test_the_identity_of_one_store_is_its_hash_and_of_several_all_hashes_with_their_shares(two):
    large, small = two

    assert mixture_of(large).identity == open_mixture(large.path).identity == large.sha256
    assert open_mixture({large.path: 1, small.path: 3}).identity == [
        {"store": large.sha256, "share": 0.25},
        {"store": small.sha256, "share": 0.75},
    ]


def test_the_counts_of_a_mixture_follow_its_shares_and_not_the_sizes(two):
    large, small = two

    counts = open_mixture({large.path: 0.5, small.path: 0.5}).vocabulary.unigram_counts

    assert counts[5] == counts[6] == pytest.approx(0.5) and np.count_nonzero(counts) == 2


def test_stores_of_different_tokenizers_are_refused(two, tiny_text, tmp_path):
    prepare(tiny_text, learn_tokenizer(tiny_text, vocab_size=200), tmp_path / "other")

    with pytest.raises(DataError, match="was made with another tokenizer"):
        open_mixture([f"{two[0].path}:0.5", f"{tmp_path / 'other'}:0.5"])
