"""The description of a head by itself: each module that defines a head has a tuple `HEAD_KINDS` of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from torch import Tensor, nn

if TYPE_CHECKING:
    from spanwise.nn.encoder import Encoder

SequenceForm = Literal["pooled", "tanh", "gelu", "last", "last_biased", "normed", "normed_mean"]
"""The ways in which a head reads a whole sequence; nn/heads/sequence.py has a table of them."""

FORMS: tuple[SequenceForm, ...] = get_args(SequenceForm)
Size = tuple[int, ...]
"""The numbers that a head's shape depends on beside the encoder, such as the number of labels."""


@dataclass(frozen=True, kw_only=True)
class HeadKind:
    """A head as model folders and model cards need to know it."""

    name: str  # its key in folders, recipes and logs
    title: str  # what a model card calls it
    build: Callable[[Encoder, Size, SequenceForm], nn.Module]  # the head with weights yet to be set
    size_of: Callable[[Mapping[str, Tensor]], Size] = lambda tensors: ()  # the size of a head with these tensors
    is_labelled: bool = False  # whether fine-tuning on a labelled task makes it
    has_form: bool = False  # whether it reads whole sequences, in the form that its family has
    names_labels: bool = False  # whether config.json names its scores; their number is the first of its size
    separate_part: str | None = None  # its submodule that lies in folders as a head of that name


def rows_of_out(tensors: Mapping[str, Tensor]) -> Size:
    """Return the size of a head whose scores are the rows of `out.weight`; 1 where that is no matrix."""
    found = tensors.get("out.weight")
    return (1,) if found is None or found.ndim != 2 else (found.shape[0],)
