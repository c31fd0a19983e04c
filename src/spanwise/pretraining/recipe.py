"""A pre-training system as one readable value: which parts, in which sizes, trained how."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, SkipValidation

from spanwise.config import part, to_record
from spanwise.config.ranges import Count, Deviation, PackTokens, Rows
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sinusoids import set_sinusoidal_positions
from spanwise.pretraining.corruption.base import Corruption, Symbols
from spanwise.pretraining.formats.base import InputFormat
from spanwise.pretraining.formats.side_arrays import WordUnit
from spanwise.pretraining.masking.base import MEMBERS, MaskingScheme, ReplacementScheme
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.objectives.base import Objective
from spanwise.training.plan import TrainingOptions


@part("learned_tokenizer")
class LearnedTokenizer:
    """The tokenizer a recipe learns when it is given text and no store; `text/learn.py` says what each value does."""

    kind: Literal["wordpiece", "byte-bpe", "bpe", "unigram"] = "wordpiece"
    vocab_size: Annotated[Rows, Field(ge=300)] = 28_996
    cased: bool = True
    unicode_form: Literal["NFC", "as_is"] = "as_is"  # NFC: composition is part of the tokenizer, as Korean needs
    boundaries: Literal["words", "morphemes"] = "words"  # what pieces of WordPiece never cross


@part("initial_weights")
class InitialWeights:
    """The ways in which fresh weights differ from BERT's N(0, initializer_range).

    `positions="sinusoidal"` starts the (learned) position table at sinusoids of the same variance, from which
    attention finds a token's neighbours much sooner (docs/log.md has the measurement). "normal" is the papers' way.
    `words="neighbours"` starts the word table at vectors that are counted in the training text, and `biases="unigram"`
    the vocabulary heads at the logarithm of its counts; initial/from_text.py does both when a run begins, and random
    weights that stand beside a trained model as its control have neither.
    """

    positions: Literal["normal", "sinusoidal"] = "normal"
    words: Literal["normal", "neighbours"] = "normal"
    biases: Literal["zero", "unigram"] = "zero"
    std: Deviation | None = None  # of words and positions; None: the encoder's initializer_range

    def apply(self, encoder: Encoder) -> None:
        """Change the fresh weights of `encoder` in place, as far as no text is needed."""
        if self.positions == "sinusoidal":
            set_sinusoidal_positions(encoder)
        if self.std is not None:
            embeddings = encoder.embeddings
            tables = [table for table in (embeddings.word, embeddings.position) if table is not None]
            with torch.no_grad():
                for table in tables:
                    table.weight.mul_(self.std / encoder.config.initializer_range)


MOST_PACKS = 2**16  # of a step, which are planned together


@part("packed_batch")
class PackedBatch:
    """The number of tokens of a step, and the portions in which they are computed.

    A pack closes at the first capacity it reaches, and a step is `packs_per_step` of them: that says which sequences
    meet in it. `packs` is how many packs carry them, which changes rounding only: by default these very ones on a CPU,
    and on a GPU as few as its memory holds, found once at the start of a run (packing/fitting.py).
    """

    tokens_per_step: Count = 131_072  # 256 sequences of 512 (SpanBERT, section 4.2)
    max_tokens: PackTokens = 16_384  # T, of one pack
    max_sequences: Count = 4_096  # S, of one pack
    max_targets: Count | None = None  # N, of one pack; None: as many as the masking asks for
    packs: Annotated[int, Field(ge=1, le=MOST_PACKS)] | Literal["auto"] = "auto"  # of a step, as it is computed
    fixed: bool | None = None  # all packs of one shape, nearly full; None: where the model is compiled

    def __post_init__(self) -> None:
        if self.packs_per_step > MOST_PACKS:
            raise ConfigError(
                f"batch.tokens_per_step {self.tokens_per_step:,} is {self.packs_per_step:,} packs of batch.max_tokens "
                f"{self.max_tokens:,}; at most {MOST_PACKS:,} make a step. Raise batch.max_tokens."
            )

    @property
    def packs_per_step(self) -> int:
        return max(1, round(self.tokens_per_step / self.max_tokens))

    @property
    def most_tokens_per_step(self) -> int:
        return self.packs_per_step * self.max_tokens


PART_MEMBERS = {
    "format": ("gives", "changes_with_epoch", "max_length", "blocks", "assemble"),
    "masking": MEMBERS,
    "replacement": ("random_ids", "apply"),
    "corruption": ("gives", "samples", "objectives", "check", "build"),
}
"""The members that a part must have; objectives are looked at by objectives/trial.py."""


@part("pretraining_recipe")
class PretrainingRecipe:
    """One system. Parts are chosen here and nowhere else; no family's name is tested below."""

    name: str
    tokenizer: LearnedTokenizer
    encoder: EncoderConfig
    format: SkipValidation[InputFormat]
    masking: SkipValidation[MaskingScheme]
    replacement: SkipValidation[ReplacementScheme]
    objectives: Mapping[str, SkipValidation[Objective]]
    batch: PackedBatch
    training: TrainingOptions
    initial: InitialWeights = InitialWeights()
    corruption: SkipValidation[Corruption] = Symbols()
    num_maskings: Count | None = None  # k: the same k maskings again and again; None: always new
    length_warmup: LengthWarmup = LengthWarmup()
    word_unit: WordUnit = "word"  # what masking takes for a word; "morpheme" needs a store made with `--tag morphemes`
    differences: tuple[str, ...] = ()  # where we knowingly leave the paper, one sentence each
    frozen: Literal["nothing", "encoder"] = "nothing"  # what stays as it is: of a still encoder the heads alone learn

    def __post_init__(self) -> None:
        for name, members in PART_MEMBERS.items():
            part = getattr(self, name)
            lacking = [member for member in members if not hasattr(part, member)]
            if lacking:
                raise ConfigError(
                    f"{name} is {type(part).__name__}, which has no {' and no '.join(lacking)}; a {name} has "
                    f"{', '.join(members)}, as examples/my_parts.py shows."
                )
        if not self.objectives:
            raise ConfigError(f"recipe '{self.name}' has no objective; give it at least one, such as MaskedLM().")
        short, longest = self.length_warmup, self.format.max_length
        if short.steps and short.max_length >= longest:
            raise ConfigError(
                f"length_warmup.max_length {short.max_length} is not below format.max_length {longest}; lower it, or "
                "set length_warmup.steps to 0."
            )

    @property
    def trained_objectives(self) -> dict[str, Objective]:
        """Everything that has a loss, by name: the objectives, and those that the corruption learns itself."""
        return {**self.corruption.objectives, **self.objectives}


def identity_record(recipe: PretrainingRecipe) -> dict[str, Any]:
    """Return what a run or an arm is held against when it goes on.

    What recipes have gained since then is left out where it has its default, so that whatever began before goes on.
    """
    record: dict[str, Any] = to_record(recipe)
    if not recipe.length_warmup.steps:
        del record["length_warmup"]
    if recipe.frozen == "nothing":
        del record["frozen"]
    if recipe.batch.packs in ("auto", recipe.batch.packs_per_step):
        del record["batch"]["packs"]
    if not recipe.batch.fixed:
        del record["batch"]["fixed"]
    options = {option.name: option.default for option in fields(EncoderConfig)}
    for name in ("vocab_size", *list(options)[list(options).index("embedding_norm") + 1 :]):
        if record["encoder"][name] == options[name]:
            del record["encoder"][name]
    return record
