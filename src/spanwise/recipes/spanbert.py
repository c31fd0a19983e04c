"""SpanBERT (Joshi et al. 2020): geometric spans of whole words, MaskedLM + SpanBoundary, single sequences.

`spanbert_*` follow the paper's equation: words stay whole, and every hidden token has both losses. Their `_original`
twins keep what the released code does instead. Numbers: section 4 of the paper and its released code.
"""

from dataclasses import replace

from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, Replacement, SubwordTokens
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT, NO_DROPOUT, POSITIONS, without
from spanwise.recipes.one_machine import COUNTED, on_modern_encoder, one_machine
from spanwise.training.plan import TrainingOptions

_PAPER = (
    ATTENTION_DROPOUT,
    "Adam epsilon is 1e-6 (the paper prints 1e-8, which its doubly normalised gradients turned into about 6e-6).",
    "Weight decay is 0.01 and spares biases and LayerNorm (the paper prints 0.1; its code has 0.01 on everything).",
    POSITIONS,
)
_ORIGINAL = (
    "As the released code: spans start at a token drawn alike and stop where the budget ends, also inside a word; "
    "spans at the edge of a block and tokens beyond the 15th of a span have no SpanBoundary target.",
    "Sentences longer than a block are split; the released code drops them.",
)


def spanbert_large() -> PretrainingRecipe:
    """24 layers x 1024, 2.4 M steps of 131,072 tokens, peak rate 1e-4 (section 4.2)."""
    return PretrainingRecipe(
        name="spanbert-large",
        tokenizer=LearnedTokenizer(kind="wordpiece", vocab_size=28_996, cased=True),
        encoder=sizes.LARGE,
        format=SingleSegment(max_length=512),
        masking=GeometricSpans(p=0.2, max_words=10, ratio=0.15),
        replacement=Replacement(mask=0.8, random=0.1, keep=0.1, unit="span"),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary(num_positions=30)},
        batch=PackedBatch(tokens_per_step=131_072, max_tokens=16_384),
        training=TrainingOptions(learning_rate=1e-4, warmup_steps=10_000, max_steps=2_400_000),
        differences=_PAPER,
    )


def spanbert_base() -> PretrainingRecipe:
    """12 layers x 768, 300 k steps of 2048 x 512 tokens, peak rate 5e-4 (the author's answer on the base model)."""
    large = spanbert_large()
    return replace(
        large,
        name="spanbert-base",
        encoder=sizes.BASE,
        batch=replace(large.batch, tokens_per_step=1_048_576),
        training=replace(large.training, learning_rate=5e-4, max_steps=300_000),
    )


def spanbert_large_original() -> PretrainingRecipe:
    """`spanbert_large` with the choices of the released code."""
    return _original(spanbert_large())


def spanbert_base_original() -> PretrainingRecipe:
    """`spanbert_base` with the choices of the released code."""
    return _original(spanbert_base())


def spanbert_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine: a day of two cores, or minutes of a GPU."""
    return one_machine(spanbert_large(), "spanbert-small", sizes.SMALL, vocab_size=16_000, learning_rate=2e-3)


def spanbert_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return one_machine(spanbert_large(), "spanbert-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)


def spanbert_tiny() -> PretrainingRecipe:
    """2 layers x 128: an hour of two cores is some hundred million tokens."""
    return one_machine(spanbert_large(), "spanbert-tiny", sizes.TINY, vocab_size=8_000, learning_rate=6e-3)


def spanbert_quickstart() -> PretrainingRecipe:
    """What a few minutes of two cores can buy, on the encoder that learns soonest (docs/decisions.md)."""
    short = _short_run()
    return on_modern_encoder(short, "spanbert-quickstart", replace(short.encoder, intermediate_size=336))


def spanbert_nano() -> PretrainingRecipe:
    """25 minutes of two cores: word vectors counted in the text, then spans and single pieces in turn.

    What each choice gains at a few minutes of one core stands in docs/log.md; records/spanwise-nano was made by it.
    """
    small = _short_run()
    ratio = 0.3
    return replace(
        small,
        name="spanbert-nano",
        tokenizer=replace(small.tokenizer, vocab_size=8_000),
        encoder=replace(small.encoder, num_layers=2, hidden_size=256, num_heads=4, intermediate_size=1_024),
        format=SingleSegment(max_length=256),
        masking=MaskingMixture(schemes={"spans": GeometricSpans(ratio=ratio), "pieces": SubwordTokens(ratio=ratio)}),
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=2_048),
        training=replace(small.training, learning_rate=3e-3, budget=1_500.0, eval_every=1_000, log_every=50),
        differences=(
            *without("Sequences of 128 tokens.", small.differences),
            "Sequences of 256 tokens.",
            "Half of the sequences hide single pieces instead of spans, and all hide 30 % of their tokens.",
        ),
    )


def _short_run() -> PretrainingRecipe:
    """SpanBERT's encoder for minutes of two cores: small updates, many of them, and a start near the goal.

    Chosen by measured progress (docs/log.md): Muon for matrices, sinusoidal first positions, and words and biases
    that begin at what is counted in the text; AdamW from random positions was still on the unigram plateau after 1.5
    million tokens.
    """
    tiny = spanbert_tiny()
    return replace(
        tiny,
        name="spanbert-quickstart",
        tokenizer=replace(tiny.tokenizer, vocab_size=4_000),
        encoder=replace(tiny.encoder, max_positions=512, hidden_dropout=0.0),
        format=SingleSegment(max_length=128),
        batch=PackedBatch(tokens_per_step=2_048, max_tokens=2_048),
        training=replace(
            tiny.training, learning_rate=4e-3, max_tokens=None, budget=240.0, eval_every=800, log_every=20, threads=1
        ),
        initial=COUNTED,
        differences=(
            *tiny.differences,
            NO_DROPOUT,
            "Sequences of 128 tokens.",
            "Words start at vectors that are counted in the text, biases at the logarithm of its counts.",
        ),
    )


def _original(recipe: PretrainingRecipe) -> PretrainingRecipe:
    return replace(
        recipe,
        name=f"{recipe.name}-original",
        masking=replace(recipe.masking, start="tokens", end="budget"),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary(num_positions=15, edges="skip", beyond="skip")},
        differences=(*without(POSITIONS, recipe.differences), *_ORIGINAL),
    )
