"""Ids drawn from rows of chances, one uniform number per row.

Letters: N rows, B rows of one block, Vp ids with the padded ones, K groups of 64 ids.

Source: inversion of the distribution function (Devroye 1986, section III.2). Groups of 64 ids are added up first, so a
draw costs one pass over the chances.
Differs: ELECTRA's code adds Gumbel noise to every score and takes the greatest, which has the same law and needs a
random number for each of the N x V scores.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

GROUP = 64  # vocabularies are padded to a multiple of this
ONE = 1 << 30  # a chance of 1; the product of two fits 64 bits


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How one id per row is drawn from the chances of a vocabulary loss."""

    uniform: Tensor  # [N] float in [0, 1)
    temperature: float = 1.0  # scores are divided by it
    without_target: bool = False  # the target itself is never drawn


def draw_block(chances: Tensor, uniform: Tensor, targets: Tensor, sampling: Sampling) -> Tensor:
    """Draw an id for each row of chances [B, Vp], with uniform [B] and targets [B, 1]. Returns [B] int64."""
    weights_BV = chances.scatter(1, targets, 0.0) if sampling.without_target else chances
    sharp_BV = weights_BV
    if sampling.temperature != 1.0:  # by the largest, which stays 1: of small chances alone every power may be 0
        sharp_BV = (weights_BV / weights_BV.amax(-1, keepdim=True)).pow(1.0 / sampling.temperature)
    drawn = draw(sharp_BV, uniform)
    if not sampling.without_target:
        return drawn
    nothing_else = weights_BV.sum(-1) <= 0.0  # the target has all of the float32 chances
    return torch.where(nothing_else, targets.squeeze(1), drawn)


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """Draw from weights [B, Vp], 0 or more and of any sum; an id of weight 0 is never drawn. Returns [B] int64.

    Weights are added up as whole numbers: a GPU gives sums of those the same bits in every run.
    """
    num_groups = weights.shape[1] // GROUP
    groups_BKG = weights.view(-1, num_groups, GROUP)
    upto_BK = _counts(groups_BKG.sum(-1)).cumsum(-1)
    total_B1 = upto_BK[:, -1:]
    wanted_B1 = torch.minimum((uniform.double().unsqueeze(1) * total_B1).long(), total_B1 - 1)
    group_B1 = torch.searchsorted(upto_BK, wanted_B1, right=True).clamp_(max=num_groups - 1)
    before_B1 = torch.where(group_B1 > 0, upto_BK.gather(1, (group_B1 - 1).clamp_(min=0)), 0)
    inside_BG = _counts(groups_BKG.gather(1, group_B1.unsqueeze(-1).expand(-1, 1, GROUP)).squeeze(1)).cumsum(-1)
    of_group_B1 = (upto_BK.gather(1, group_B1) - before_B1).clamp_(min=1)
    rest_B1 = (wanted_B1 - before_B1) * inside_BG[:, -1:] // of_group_B1
    place_B1 = torch.searchsorted(inside_BG, rest_B1, right=True).clamp_(max=GROUP - 1)
    return (group_B1 * GROUP + place_B1).squeeze(1)


def _counts(weights: Tensor) -> Tensor:
    """Weights [B, n] as whole numbers with a sum near ONE; those above 0 stay above 0, and what is no number is 0."""
    shares = weights.double() / weights.double().sum(-1, keepdim=True)
    return (shares.nan_to_num(0.0) * ONE).ceil().long()
