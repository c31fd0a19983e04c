"""Sentences that several systems share about where we knowingly leave their papers."""

ATTENTION_DROPOUT = (
    "encoder.attention_dropout is 0 (the paper: 0.1): variable-length kernels have none; 0.1 takes a slower path."
)
BUDGET = (
    "Of n tokens of text ceil(0.15 n) are hidden; the released code takes max(1, round(0.15 (n + specials))), "
    "which is the same or one token fewer, and at most 20 of 128."
)
INITIAL = "Initial weights are normal; the released code cuts the normal distribution at two standard deviations."
POSITIONS = "Boundary positions have 30 rows (the released code: 15), for spans of ten words of three pieces."
SINUSOIDS = "Positions start as sinusoids: this leaves the unigram plateau sooner."
MODERN = (
    "The encoder is that of ModernBERT, not of BERT, and nothing is dropped out.",
    "Products that end in the residual start smaller, by the square root of twice the number of layers.",
)
NO_DROPOUT = "No dropout: the text is seen about once."
ONE_MACHINE = (
    "Size, vocabulary, batch, rate and length are ours, for one machine.",
    "Matrices learn by Muon, which leaves the unigram plateau sooner.",
    SINUSOIDS,
)


def without(line: str, differences: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences of a recipe that does not leave the paper in this way."""
    return tuple(other for other in differences if other != line)
