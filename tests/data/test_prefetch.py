"""Items come in order, whatever the depth, and errors come where they belong."""

from __future__ import annotations

import threading
import time

import pytest

from spanwise.data.prefetch import Prefetcher


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_the_depth_changes_nothing_but_speed(depth):
    with Prefetcher(lambda index: index * index, first=3, depth=depth) as items:
        assert [items.get(index) for index in range(3, 30)] == [index * index for index in range(3, 30)]


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_any_index_may_be_asked_for(depth):
    with Prefetcher(lambda index: -index, depth=depth) as items:
        assert [items.get(index) for index in (0, 1, 50, 51, 2, 2, 3)] == [0, -1, -50, -51, -2, -2, -3]


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_error_of_the_maker_is_raised_at_its_index_and_again(depth):
    def make(index: int) -> int:
        if index == 2:
            raise ValueError("the second item is bad")
        return index

    with Prefetcher(make, depth=depth) as items:
        assert items.get(0) == 0 and items.get(1) == 1
        for _ in range(2):
            with pytest.raises(ValueError, match="second item is bad"):
                items.get(2)
        assert items.get(3) == 3


def test_at_most_depth_items_are_made_ahead():
    made = []

    def make(index: int) -> int:
        made.append(index)
        return index

    with Prefetcher(make, depth=2) as items:
        items.get(0)
        time.sleep(0.05)
        assert max(made) <= 2


def test_closing_ends_the_thread_and_refuses_more():
    items = Prefetcher(lambda index: index, depth=2)
    items.get(0)

    items.close()

    assert not any(
        thread.name.startswith("spanwise-prefetch") and thread.is_alive() for thread in threading.enumerate()
    )
    with pytest.raises(ValueError, match="closed"):
        items.get(1)


def test_a_negative_depth_is_refused():
    with pytest.raises(ValueError, match="-1"):
        Prefetcher(lambda index: index, depth=-1)
