"""ALBERT (Lan et al. 2020): one layer's weights for all, small embeddings, n-grams, MaskedLM + SentenceOrder.

Numbers: Lan et al. 2020, sections 3 and 4 and appendix A.4, and the released code.
"""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.formats import OrderedPair
from spanwise.pretraining.masking import NGrams, Replacement
from spanwise.pretraining.objectives import MaskedLM, SentenceOrder
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT, INITIAL
from spanwise.recipes.one_machine import one_machine
from spanwise.training.plan import TrainingOptions

_PAPER = (
    ATTENTION_DROPOUT,
    INITIAL,
    "15 % of the tokens are hidden; the published command caps them at 20 of 512, which is 3.9 %.",
    "Blocks of a single sentence have no SentenceOrder target; the released code gives them a random second segment "
    "and calls it swapped.",
    "Masks are new at every epoch; the released data has 40 copies.",
)


def albert_base() -> PretrainingRecipe:
    """12 layers x 768 of shared weights, 12 M parameters; 125 k steps of 4096 x 512 tokens (section 4.1)."""
    return _published("albert-base", sizes.BASE)


def albert_large() -> PretrainingRecipe:
    """24 layers x 1024, 18 M parameters."""
    return _published("albert-large", sizes.LARGE)


def albert_xlarge() -> PretrainingRecipe:
    """24 layers x 2048, 60 M parameters."""
    return _published("albert-xlarge", sizes.ALBERT_XLARGE)


def albert_xxlarge() -> PretrainingRecipe:
    """12 layers x 4096, 223 M parameters (the paper prints 235 M), without dropout."""
    return _published("albert-xxlarge", replace(sizes.ALBERT_XXLARGE, hidden_dropout=0.0))


def albert_base_shared_attention() -> PretrainingRecipe:
    """`albert_base` with shared attention and a feed-forward network a layer (table 4)."""
    return _sharing("albert-base-shared-attention", "attention")


def albert_base_shared_feed_forward() -> PretrainingRecipe:
    """`albert_base` with shared feed-forward networks and an attention a layer (table 4)."""
    return _sharing("albert-base-shared-feed-forward", "feed_forward")


def albert_base_not_shared() -> PretrainingRecipe:
    """`albert_base` with weights of its own in every layer (table 4)."""
    return _sharing("albert-base-not-shared", "none")


def albert_small() -> PretrainingRecipe:
    """4 layers x 512 of shared weights for one machine."""
    return one_machine(albert_base(), "albert-small", sizes.SMALL, vocab_size=16_000, learning_rate=2e-3)


def albert_mini() -> PretrainingRecipe:
    """4 layers x 256 of shared weights for one machine."""
    return one_machine(albert_base(), "albert-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)


def _published(name: str, shape: EncoderConfig) -> PretrainingRecipe:
    return PretrainingRecipe(
        name=name,
        tokenizer=LearnedTokenizer(kind="unigram", vocab_size=30_000, cased=False),
        encoder=replace(shape, embedding_size=128, sharing="all", activation="gelu_tanh", pooler=True),
        format=OrderedPair(max_length=512, short_sequence_share=0.1),
        masking=NGrams(max_words=3, ratio=0.15),
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="token", random_law="uniform"),
        objectives={"mlm": MaskedLM(), "sop": SentenceOrder()},
        batch=PackedBatch(tokens_per_step=2_097_152, max_tokens=16_384),
        training=TrainingOptions(learning_rate=1.76e-3, warmup_steps=3_125, max_steps=125_000, optimizer="lamb"),
        differences=_PAPER,
    )


def _sharing(name: str, sharing) -> PretrainingRecipe:
    base = albert_base()
    return replace(base, name=name, encoder=replace(base.encoder, sharing=sharing))
