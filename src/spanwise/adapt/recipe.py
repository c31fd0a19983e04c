"""What an adaptation learns and how fast: values that follow from what the start is and has.

Sources: Gururangan et al. 2020 (going on with masked language modelling on a domain's own text helps); Ibrahim et al.
2024 (warm the rate up again, let it decay again, replay some of the old text).
"""

from dataclasses import replace

from spanwise.adapt.objectives import Chosen, masking_for, objectives_of, replacement_for
from spanwise.adapt.options import NUM_CHECKS, Length
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.training.plan import LENGTHS, TrainingOptions

HEADS_SHARE = 0.25  # of an adaptation's length, for heads that the start does not bring
HEADS_RATE = 1e-3
MAX_LENGTH = 256  # tokens of a sequence, as far as the start reads so many


def adaptation_recipe(
    checkpoint: Checkpoint, objective: Chosen, *, seed: int, length: Length, whole_words: bool = False
) -> PretrainingRecipe:
    """Return the recipe of an adaptation, in the shape of the start.

    Dropout is the start's own. The rate warms up over a tenth of the run and falls to zero.
    """
    config = checkpoint.config
    return PretrainingRecipe(
        name=f"adapt-{objective}",
        tokenizer=LearnedTokenizer(),
        encoder=replace(config, vocab_size=0),
        format=SingleSegment(max_length=min(MAX_LENGTH, config.max_positions)),
        masking=masking_for(objective, checkpoint.record, whole_words=whole_words),
        replacement=replacement_for(objective, checkpoint.record),
        objectives=objectives_of(objective, checkpoint),
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
