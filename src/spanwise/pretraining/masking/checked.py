"""What a masking of a user's own chose, looked at before compiled loops rely on it: they read wherever they are told.

Letters: T tokens in the pack, S sequences, M spans, G groups.
"""

from __future__ import annotations

import numpy as np

from spanwise.config.parts import is_ours
from spanwise.errors import ConfigError
from spanwise.pretraining.masking.base import MaskingScheme
from spanwise.pretraining.packs import Pack, Spans


def selected(masking: MaskingScheme, pack: Pack, keys: np.ndarray, *, capacity: int | None = None) -> Spans:
    """Return what a masking chooses, checked where the masking is not ours; see `MaskingScheme.select`.

    Raises: ConfigError as `check_spans`.
    """
    spans = masking.select(pack, keys, capacity=capacity)
    if not is_ours(masking):
        check_spans(type(masking).__name__, pack, spans)
    return spans


def check_spans(name: str, pack: Pack, spans: object) -> None:
    """Refuse what are no spans of this pack, as pretraining/packs.py describes them; `name` is that of the masking.

    Raises: ConfigError saying which span is wrong, and how it should be.
    """
    if not isinstance(spans, Spans):
        raise ConfigError(f"masking {name} returned {type(spans).__name__}; expected spanwise.pretraining.packs.Spans.")
    wrong = _wrong_arrays(spans) or _wrong_places(pack, spans)
    if wrong:
        raise ConfigError(f"masking {name} returned spans whose {wrong}.")


def _wrong_arrays(spans: Spans) -> str:
    arrays = {"sequence": spans.sequence, "start": spans.start, "end": spans.end}
    if spans.group is not None:
        arrays["group"] = spans.group
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.shape != (len(spans.start),):
            came = f"{array.dtype} {list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
            return f"{name} is {came}; expected an array of {len(spans.start)} int64, one per span"
    if spans.kept is None:
        return ""
    if not isinstance(spans.kept, np.ndarray) or spans.kept.dtype != np.int64 or spans.kept.shape[1:] != (2,):
        return "kept is not an int64 array [G, 2]; expected a start and an end per group, or -1 twice"
    if spans.group is not None and (spans.group >= len(spans.kept)).any():
        return f"group reaches {spans.group.max()}; `kept` has {len(spans.kept)} rows, one per group"
    return ""


def _wrong_places(pack: Pack, spans: Spans) -> str:
    start_M, end_M, sequence_M = spans.start, spans.end, spans.sequence
    num_tokens, num_sequences = len(pack.input_ids), len(pack.borders) - 1

    def first(is_wrong_M: np.ndarray, what: str) -> str:
        if not is_wrong_M.any():
            return ""
        m = int(is_wrong_M.argmax())
        return f"number {m}, tokens {start_M[m]} to {end_M[m]} of sequence {sequence_M[m]}, {what}"

    outside_M = (start_M < 0) | (end_M <= start_M) | (end_M > num_tokens)
    wrong = first(outside_M, f"holds no token of the pack, which has {num_tokens}; ends are half-open")
    wrong = wrong or first((sequence_M < 0) | (sequence_M >= num_sequences), f"is of none of {num_sequences} sequences")
    if wrong:
        return wrong
    leaves_M = (start_M < pack.borders[sequence_M]) | (end_M > pack.borders[sequence_M + 1])
    num_special_T = np.concatenate([[0], np.cumsum(~pack.maskable)])
    touches_M = np.zeros(len(start_M), dtype=bool)
    touches_M[1:] = start_M[1:] < end_M[:-1] + (spans.group is None)  # only spans of groups may touch
    return (
        first(leaves_M, "leaves its sequence; `pack.borders` says where sequences begin")
        or first(
            num_special_T[end_M] > num_special_T[start_M],
            "hides a special token, or one that another masking took; see `pack.maskable`",
        )
        or first(touches_M, "does not lie behind the one before it; sort spans, and merge those that touch")
    )
