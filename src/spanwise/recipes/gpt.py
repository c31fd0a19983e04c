"""GPT-1 (Radford et al. 2018): a causal encoder guesses the next token of contiguous text.

Numbers: Radford et al. 2018, section 4.1.
"""

from dataclasses import replace

from spanwise.pretraining.formats import ContiguousText
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.objectives import CausalLM
from spanwise.pretraining.recipe import LearnedTokenizer, PackedBatch, PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.differences import ATTENTION_DROPOUT
from spanwise.recipes.one_machine import one_machine
from spanwise.training.plan import TrainingOptions

_PAPER = (
    ATTENTION_DROPOUT,
    "Gradients are clipped at a norm of 1, as the released fine-tuning code does; the paper names no clip for "
    "pre-training.",
)


def gpt1() -> PretrainingRecipe:
    """12 layers x 768, 100 epochs of 64 x 512 tokens per step, peak rate 2.5e-4 down to 0 by a cosine (section 4.1)."""
    return PretrainingRecipe(
        name="gpt1",
        tokenizer=LearnedTokenizer(kind="bpe", vocab_size=40_478, cased=False),
        encoder=replace(
            sizes.BASE, causal=True, num_token_types=0, embedding_norm=False, norm_eps=1e-5, activation="gelu_tanh"
        ),
        format=ContiguousText(max_length=512),
        masking=NoMasking(),
        replacement=NoReplacement(),
        objectives={"clm": CausalLM()},
        batch=PackedBatch(tokens_per_step=32_768, max_tokens=16_384),
        training=TrainingOptions(learning_rate=2.5e-4, warmup_steps=2_000, schedule="cosine", num_epochs=100),
        differences=_PAPER,
    )


def gpt1_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return one_machine(gpt1(), "gpt1-small", sizes.SMALL, vocab_size=16_000, learning_rate=2e-3)


def gpt1_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return one_machine(gpt1(), "gpt1-mini", sizes.MINI, vocab_size=16_000, learning_rate=4e-3)
