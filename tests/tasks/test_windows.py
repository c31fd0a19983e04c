"""Windows cover a passage, and every token has one window that shows it best."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError
from spanwise.tasks.windows import max_context_window, passage_windows

SIZES = {"num_tokens": st.integers(0, 150), "capacity": st.integers(1, 80), "stride": st.integers(1, 100)}


@settings(deadline=None, max_examples=60)
@given(**SIZES)
def test_windows_equal_the_original_loop(num_tokens, capacity, stride):
    expected, start = [], 0
    while True:
        length = min(num_tokens - start, capacity)
        expected.append([start, start + length])
        if start + length == num_tokens:
            break
        start += min(length, stride)
    assert passage_windows(num_tokens, capacity, stride).tolist() == expected


@settings(deadline=None, max_examples=60)
@given(**SIZES)
def test_the_window_of_most_context_equals_the_rule_token_by_token(num_tokens, capacity, stride):
    windows = passage_windows(num_tokens, capacity, stride)
    best = max_context_window(windows, num_tokens)
    for token in range(num_tokens):
        scores = [
            min(token - first, last - 1 - token) + 0.01 * (last - first) if first <= token < last else -1
            for first, last in windows
        ]
        assert best[token] == scores.index(max(scores))


def test_impossible_sizes_are_errors():
    for capacity, stride in ((0, 1), (1, 0)):
        with pytest.raises(ConfigError, match="cannot cover"):
            passage_windows(10, capacity, stride)
