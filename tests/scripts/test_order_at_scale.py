"""The benchmark of the sampler at scale measures the real source, and would see worlds that differ."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("order_at_scale")


def test_a_small_size_has_all_figures_and_equal_worlds(benchmark):
    row = benchmark.measure(8e6)

    assert row["worlds_agree"]
    assert row["packs"] > benchmark.PACKS_PER_STEP and row["blocks"] > row["packs"]
    assert row["store_bytes"] < 5 * row["sentences"] and row["kept_bytes"] == 24 * row["blocks"]
    benchmark.show([row])


def test_worlds_that_differ_are_seen(benchmark, monkeypatch):
    whole = benchmark.PretrainingSource.masked_step

    def shifted(source, index, rank=0, num_ranks=1):
        return whole(source, index + (num_ranks == 64), rank, num_ranks)

    monkeypatch.setattr(benchmark.PretrainingSource, "masked_step", shifted)

    assert not benchmark.measure(8e6)["worlds_agree"]


def test_a_tiled_store_is_the_store_of_the_text_written_that_often(benchmark, tmp_path):
    base, _ = benchmark.base_store(tmp_path)
    tiled = benchmark.TiledStore(base, 3)

    assert tiled.num_tokens == 3 * base.num_tokens == tiled.sentence_lengths.sum()
    assert np.diff(tiled.document_borders).tolist() == 3 * np.diff(base.document_borders).tolist()
    starts, lengths = np.array([0, base.num_tokens - 2, 2 * base.num_tokens + 5]), np.array([3, 4, 2])
    expected = base.gather(np.array([0, base.num_tokens - 2, 0, 5]), np.array([3, 2, 2, 2]))
    assert tiled.gather(starts, lengths).tolist() == expected.tolist()
