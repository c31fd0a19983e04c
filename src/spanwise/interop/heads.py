"""Every head by its name in folders: which module it is, and how its size is read off its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.interop.family import Family
from spanwise.nn.config import EncoderConfig
from spanwise.nn.coreference.head import CoreferenceHead, HeadSizes
from spanwise.nn.encoder import Encoder
from spanwise.nn.lm_head import MaskedLMHead, TiedDecoder
from spanwise.nn.qa_head import Answerability, QuestionAnsweringHead
from spanwise.nn.replaced_token_head import ReplacedTokenHead
from spanwise.nn.sequence_head import SequenceForm, SequenceHead
from spanwise.nn.spans import SpanBoundaryHead
from spanwise.nn.token_head import TokenClassificationHead

Size = tuple[int, ...]  # what a head's shape depends on beside the encoder: labels, or positions and their size
TITLES = {
    "mlm": "masked language model",
    "clm": "causal language model",
    "sbo": "span boundary objective",
    "nsp": "next sentence",
    "sop": "sentence order",
    "rtd": "replaced token detection",
    "qa": "extractive question answering",
    "answerable": "answerability of questions",
    "classification": "sequence classification",
    "tagging": "token classification",
    "multiple_choice": "multiple choice",
    "coref": "coreference",
}
FINE_TUNED = ("qa", "classification", "tagging", "multiple_choice", "coref")  # heads of labelled tasks
READ_SEQUENCES = ("classification", "multiple_choice")  # heads that have a form
SIZED_BY = {"sbo": "positions.weight", "classification": "out.weight", "tagging": "out.weight"}
_PLAIN: dict[str, Callable[[Encoder], nn.Module]] = {
    "mlm": lambda encoder: MaskedLMHead(encoder.config, encoder.word_embedding),
    "clm": lambda encoder: TiedDecoder(encoder.word_embedding, bias=False),
    "nsp": lambda encoder: nn.Linear(encoder.config.hidden_size, 2),
    "sop": lambda encoder: nn.Linear(encoder.config.hidden_size, 2),
    "rtd": lambda encoder: ReplacedTokenHead(encoder.config),
}


def make_head(name: str, encoder: Encoder, size: Size = (), form: SequenceForm = "pooled") -> nn.Module:
    """A head with weights yet to be set.

    size: labels of "classification" and "tagging"; positions and position size of "sbo"; `HeadSizes` of "coref" as a
    tuple; of "qa" whether it is joint and has a classifier, of "answerable" whether it reads the start (0 or 1, and ()
    for no); () elsewhere.
    form: of "classification" and "multiple_choice".

    Raises:
        ConfigError: an unknown name, or the form "pooled" on an encoder without pooler.
    """
    if name in _PLAIN:
        return _PLAIN[name](encoder)
    if name == "sbo":
        return SpanBoundaryHead(encoder.config, encoder.word_embedding, *size)
    if name == "coref":
        return CoreferenceHead(encoder.config, HeadSizes.from_tuple(size))
    if name == "qa":
        joint, answerable = size or (0, 0)
        return QuestionAnsweringHead(encoder.config, joint=bool(joint), answerable=bool(answerable))
    if name == "answerable":
        return Answerability(encoder.config, reads_start=size == (1,))
    if name == "tagging":
        return TokenClassificationHead(encoder.config, size[0])
    if name in READ_SEQUENCES:
        return SequenceHead(encoder.config, size[0] if size else 1, form, encoder.pooler)
    raise ConfigError(f"there is no head {name!r}; heads are {', '.join(TITLES)}.")


def size_of(name: str, tensors: Mapping[str, Tensor]) -> Size:
    """The `size` that `make_head` needs for a head with these tensors."""
    if name == "coref":
        return HeadSizes.of_tensors(tensors).as_tuple()
    if name == "qa":
        size = int("start.weight" in tensors), int("answerable.out.weight" in tensors)
        return size if any(size) else ()
    if name == "answerable":
        return (1,) if "dense.weight" in tensors else ()
    table = tensors.get(SIZED_BY.get(name, ""))
    if table is None or table.ndim != 2:
        return (15, 200) if name == "sbo" else (1,) if name in SIZED_BY else ()
    return tuple(table.shape) if name == "sbo" else (table.shape[0],)


def form_of(family: Family, name: str, config: EncoderConfig) -> SequenceForm:
    """How a head that reads whole sequences does so in a family. Where attention is causal, only the last token has
    seen them."""
    form = family.forms.get(name, "pooled")
    return "last" if config.causal and not form.startswith("last") else form


# Heads that lie in a folder in two: the class of Hugging Face holds the one, heads.safetensors the rest.
_PARTED = {"qa": "answerable"}


def joined(heads: Mapping[str, Mapping[str, Tensor]]) -> dict[str, dict[str, Tensor]]:
    """Heads as folders hold them, with those that lie there in two in one piece."""
    found = {name: dict(tensors) for name, tensors in heads.items()}
    for whole, part in _PARTED.items():
        if whole in found and part in found:
            found[whole] |= {f"{part}.{name}": tensor for name, tensor in found.pop(part).items()}
    return found


def parted(name: str, tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """A head as folders hold it: under its own name, and the part that no class has a place for under another."""
    front = f"{_PARTED[name]}." if name in _PARTED else None
    if front is None or not any(key.startswith(front) for key in tensors):
        return {name: dict(tensors)}
    rest = {key.removeprefix(front): tensor for key, tensor in tensors.items() if key.startswith(front)}
    return {name: {key: t for key, t in tensors.items() if not key.startswith(front)}, _PARTED[name]: rest}
