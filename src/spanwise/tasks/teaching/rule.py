"""How an encoder is usually taught: peak rate, epochs and dropout, where neither a person nor a named recipe sets them.

The rate falls with the square of the width and a power of the depth, from BERT-base's (768 wide, 12 layers: 3e-5, the
middle of 2e-5 to 5e-5; Devlin et al. 2019, appendix A.3). That gives ELECTRA-small (256, 12) 2.7e-4 where its paper has
3e-4 (Clark et al. 2020, table 7), and encoders of 2, 4 and 6 layers of 256 9.5e-4, 5.8e-4 and 4.4e-4, which are among
the best in records/teaching-defaults. Widths between and above are not measured here.

Few examples are read until so many steps are done: with three epochs of them BERT is left half taught (Mosbach et al.
2021, section 5; Zhang et al. 2021, section 6). Dropout is never more than the encoder was pre-trained with: 0.1 cost
one that had none 16 points of F1 of questions (records/spanwise-night); on other tasks it decides little. That narrow
encoders go without where they had some is not measured; the English reader that ships learned its questions with 0.1.

A model that knows how to answer questions reads new ones twice, however few they are (`QuestionAnswering`): what it
knows lies in its encoder, and each time that the same questions come again costs some of it. Names gain by the rule for
a fresh head then too. Both are measured in records/adaptation (kept.py); other tasks are not.
"""

import math

BASE_WIDTH, BASE_DEPTH, BASE_RATE = 768, 12, 3e-5
DEPTH_POWER = 0.7  # from 12 layers of 256 (ELECTRA-small) to 2 and 4 of them
LOWEST_RATE, HIGHEST_RATE = 1e-5, 1e-3  # ALBERT-xxlarge's, 4,096 wide; above the other a small one comes apart
EPOCHS, LEAST_STEPS = 4, 300
WIDE, MOST_DROPOUT = 512, 0.1  # of hidden states: narrower encoders go without


def usual_rate(width: int, depth: int) -> float:
    """Return the peak learning rate for an encoder of this hidden size and so many layers, in two digits."""
    rate = BASE_RATE * (BASE_WIDTH / width) ** 2 * (BASE_DEPTH / depth) ** DEPTH_POWER
    return float(f"{min(HIGHEST_RATE, max(LOWEST_RATE, rate)):.1e}")


def usual_epochs(steps_per_epoch: int) -> int:
    """Return how often the examples are read."""
    return max(EPOCHS, math.ceil(LEAST_STEPS / steps_per_epoch))


def usual_dropout(width: int, own: float) -> float:
    """Return the hidden dropout for an encoder that was pre-trained with `own`."""
    return min(own, MOST_DROPOUT if width >= WIDE else 0.0)
