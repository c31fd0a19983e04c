"""The loss of coreference: the chance of all right antecedents together.

Letters: k spans kept, c antecedents each.
Source: Lee et al. 2017, section 4 (marginal log-likelihood); Xu and Choi 2020 (mention loss).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.coreference.antecedents import Antecedents
from spanwise.nn.losses.loss_sum import LossSum


def antecedent_loss(antecedents: Antecedents, cluster_k: Tensor) -> LossSum:
    """-log of the share that right antecedents have of all; "none" is right where none of them is there.

    cluster_k: the gold cluster of each span, from 1; 0 for a span that is no mention.
    """
    index_kc = antecedents.index_kc
    same_kc = (cluster_k[:, None] == cluster_k[index_kc]) & (cluster_k[:, None] > 0) & antecedents.valid_kc
    right_ka = torch.cat([~same_kc.any(dim=1, keepdim=True), same_kc], dim=1)
    scores_ka = F.pad(antecedents.scores_kc.float(), (1, 0))  # column 0: no antecedent
    right_k = scores_ka.masked_fill(~right_ka, -torch.inf).logsumexp(dim=1)
    with torch.no_grad():
        num_correct = right_ka.gather(1, scores_ka.argmax(dim=1, keepdim=True)).sum()
    loss = (scores_ka.logsumexp(dim=1) - right_k).sum()
    return LossSum(sum=loss, num_correct=num_correct, is_log_likelihood=True)


def mention_loss(mention_k: Tensor, cluster_k: Tensor) -> LossSum:
    """Cross-entropy of "is a mention" over the kept spans, so that a mention without antecedent can be told."""
    is_mention_k = cluster_k > 0
    loss = F.binary_cross_entropy_with_logits(mention_k.float(), is_mention_k.float(), reduction="sum")
    num_correct = ((mention_k.detach() > 0) == is_mention_k).sum()
    return LossSum(sum=loss, num_correct=num_correct, is_log_likelihood=True)
