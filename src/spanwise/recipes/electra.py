"""ELECTRA (Clark et al. 2020): a small generator fills hidden places, the encoder finds what it replaced.

Numbers: Clark et al. 2020, appendix A, and the released code.
"""

from dataclasses import replace

from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import SplitSegments
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import ReplacedToken
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT, INITIAL
from spanwise.recipes.one_machine import one_machine
from spanwise.training.plan import TrainingOptions

_PAPER = (
    ATTENTION_DROPOUT,
    INITIAL,
    "Hidden positions are unique; the released code draws them with replacement and adds up the ids of duplicates.",
    "Blocks are filled with whole sentences; the released code goes on until they are full and drops what is too much.",
)
_SMALL = "The released small model has a generator as wide as itself (corruption.size=1.0); the paper's is a quarter."


def electra_small() -> PretrainingRecipe:
    """12 layers x 256, 1 M steps of 128 x 128 tokens, peak rate 5e-4 (table 6)."""
    return PretrainingRecipe(
        name="electra-small",
        tokenizer=LearnedTokenizer(kind="wordpiece", vocab_size=30_522, cased=False),
        encoder=replace(sizes.MINI, num_layers=12, embedding_size=128),
        format=SplitSegments(max_length=128, short_sequence_share=0.05, single_segment_share=0.1),
        masking=SubwordTokens(ratio=0.15),
        replacement=Replacement(mask=0.85, random=0.0, keep=0.15, unit="token"),
        corruption=Generator(size=1 / 4),
        objectives={"rtd": ReplacedToken(weight=50.0)},
        batch=PackedBatch(tokens_per_step=16_384, max_tokens=16_384),
        training=TrainingOptions(learning_rate=5e-4, warmup_steps=10_000, max_steps=1_000_000),
        differences=(*_PAPER, _SMALL),
    )


def electra_base() -> PretrainingRecipe:
    """12 layers x 768, 766 k steps of 256 x 512 tokens, peak rate 2e-4 (table 6)."""
    small = electra_small()
    return replace(
        small,
        name="electra-base",
        encoder=sizes.BASE,
        format=replace(small.format, max_length=512),
        corruption=Generator(size=1 / 3),
        batch=PackedBatch(tokens_per_step=131_072, max_tokens=16_384),
        training=replace(small.training, learning_rate=2e-4, max_steps=766_000),
        differences=_PAPER,
    )


def electra_large() -> PretrainingRecipe:
    """24 layers x 1024, a quarter of the tokens hidden, 400 k steps of 2048 x 512 tokens (ELECTRA-400K, table 6)."""
    base = electra_base()
    return replace(
        base,
        name="electra-large",
        encoder=sizes.LARGE,
        masking=SubwordTokens(ratio=0.25),
        corruption=Generator(size=1 / 4),
        batch=PackedBatch(tokens_per_step=1_048_576, max_tokens=16_384),
        training=replace(base.training, max_steps=400_000),
    )


def electra_mini() -> PretrainingRecipe:
    """4 layers x 256 with a generator of 64, for one machine."""
    return one_machine(electra_small(), "electra-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)
