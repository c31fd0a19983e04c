"""What an adaptation learns and how fast: values that follow from what the start is and has.

Sources: Gururangan et al. 2020 (going on with masked language modelling on a domain's own text helps); Ibrahim et al.
2024 (warm the rate up again, let it decay again, replay some of the old text).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from spanwise.adapt.options import NUM_CHECKS, Length, ObjectiveName
from spanwise.config import from_record
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.heads import size_of
from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, NGrams, Replacement, SubwordTokens, WholeWords
from spanwise.pretraining.masking.base import MaskingScheme
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.training.plan import LENGTHS, TrainingOptions

HEADS_SHARE = 0.25  # of an adaptation's length, for heads that the start does not bring
HEADS_RATE = 1e-3
MAX_LENGTH = 256  # tokens of a sequence, as far as the start reads so many
MASKINGS = (GeometricSpans, SubwordTokens, WholeWords, NGrams, MaskingMixture)  # those that need nothing but text


def choose_objective(wanted: ObjectiveName, checkpoint: Checkpoint) -> Literal["spans", "mlm"]:
    """Return the objective that was asked for, or with "auto" the one that the start has learned.

    "spans" is masked language modelling with the span boundary objective on spans of whole words (SpanBERT), "mlm"
    masked language modelling alone. Raises: ConfigError for another name; CheckpointError for a start that cannot
    learn them.
    """
    if wanted not in ("auto", "spans", "mlm"):
        raise ConfigError(f"objective {wanted!r} is unknown; use auto, spans or mlm.")
    if checkpoint.config.causal:
        raise CheckpointError(
            f"{checkpoint.folder} reads from left to right, and an adaptation hides tokens in the middle of a text; go "
            "on with it by `spanwise pretrain gpt1 --init`."
        )
    if wanted == "auto":
        return "spans" if "sbo" in checkpoint.heads else "mlm"
    return wanted


def adaptation_recipe(
    checkpoint: Checkpoint, objective: Literal["spans", "mlm"], *, seed: int, length: Length, whole_words: bool = False
) -> PretrainingRecipe:
    """Return the recipe of an adaptation, in the shape of the start.

    Masks are drawn as the start has learned them where its record says how, so that a new way of masking is not taken
    for a new domain; with `whole_words` words are hidden whole in any case, as a comparison of vocabularies needs it.
    Dropout is the start's own. The rate warms up over a tenth of the run and falls to zero.
    """
    config = checkpoint.config
    plain: MaskingScheme = SubwordTokens()
    if objective == "spans":
        plain = GeometricSpans()
    elif whole_words:
        plain = WholeWords()
    return PretrainingRecipe(
        name=f"adapt-{objective}",
        tokenizer=LearnedTokenizer(),
        encoder=replace(config, vocab_size=0),
        format=SingleSegment(max_length=min(MAX_LENGTH, config.max_positions)),
        masking=plain if whole_words else _learned_masking(checkpoint.record, plain),
        replacement=Replacement(),
        objectives=_objectives(objective, checkpoint),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=4_096),
        training=TrainingOptions(
            learning_rate=learning_rate_for(config),
            warmup_steps=0.1,
            adam_beta2=0.98,
            eval_every=1 / NUM_CHECKS,
            log_every=20,
            seed=seed,
            **length.options,
        ),
    )


def heads_recipe(recipe: PretrainingRecipe, fresh: tuple[str, ...], length: Length) -> PretrainingRecipe:
    """Return the recipe that teaches the fresh heads of `recipe` while the encoder stays still.

    What fresh heads send back would spoil a given encoder: going on from a public one with both at one rate cost it 38
    points of F1 (records/minilm-init).
    """
    return replace(
        recipe,
        name="adapt-heads",
        objectives={name: recipe.objectives[name] for name in fresh},
        training=replace(
            recipe.training,
            **{**dict.fromkeys(LENGTHS), **length.options, "learning_rate": HEADS_RATE, "eval_every": None},
        ),
        frozen="encoder",
    )


def fresh_heads(recipe: PretrainingRecipe, checkpoint: Checkpoint) -> tuple[str, ...]:
    """The heads of the recipe that the start does not bring."""
    return tuple(name for name in recipe.objectives if name not in checkpoint.heads)


def learning_rate_for(config: EncoderConfig) -> float:
    """The highest rate of an adaptation: 1e-4 for 768 dimensions, more for narrower encoders and less for wider ones.

    1e-4 is a tenth to a fifth of what such encoders are pre-trained with.
    """
    return 1e-4 * 768 / config.hidden_size


def _objectives(objective: Literal["spans", "mlm"], checkpoint: Checkpoint) -> dict[str, Objective]:
    chosen: dict[str, Objective] = {"mlm": MaskedLM()}
    if objective == "spans":
        chosen["sbo"] = SpanBoundary()
        if "sbo" in checkpoint.heads:
            num_positions, position_size = size_of("sbo", checkpoint.heads["sbo"])
            chosen["sbo"] = SpanBoundary(num_positions=num_positions, position_size=position_size)
    return chosen


def _learned_masking(record: Mapping[str, Any], plain: MaskingScheme) -> MaskingScheme:
    """The masking that a folder's record names, where it needs nothing but text; else `plain`."""
    recipe = record.get("recipe")
    if not isinstance(recipe, Mapping) or "masking" not in recipe or recipe.get("word_unit", "word") != "word":
        return plain
    try:
        masking: MaskingScheme = from_record(recipe["masking"], MASKINGS)
    except ConfigError:
        return plain
    return masking
