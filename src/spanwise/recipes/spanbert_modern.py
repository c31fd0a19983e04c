"""SpanBERT, encoder of today: its masking and objectives on ModernBERT's encoder (Warner et al. 2024, section 2.1).

Pre-norm, rotary positions, GeGLU, no biases, and in two of three layers attention to 64 tokens to each side. Gated
networks have three matrices in the place of two, so those of one machine are two thirds as wide: as many parameters as
`spanbert-mini` and `spanbert-small` have in their layers.
"""

from dataclasses import replace

from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes import sizes
from spanwise.recipes.one_machine import on_modern_encoder
from spanwise.recipes.spanbert import spanbert_base, spanbert_mini, spanbert_small


def spanbert_modern_base() -> PretrainingRecipe:
    """`spanbert_base` on ModernBERT's base: 22 layers x 768."""
    return on_modern_encoder(spanbert_base(), "spanbert-modern-base", sizes.MODERN_BASE)


def spanbert_modern_small() -> PretrainingRecipe:
    """4 layers x 512 for one machine."""
    return on_modern_encoder(spanbert_small(), "spanbert-modern-small", replace(sizes.SMALL, intermediate_size=1_344))


def spanbert_modern_mini() -> PretrainingRecipe:
    """4 layers x 256 for one machine."""
    return on_modern_encoder(spanbert_mini(), "spanbert-modern-mini", replace(sizes.MINI, intermediate_size=672))
