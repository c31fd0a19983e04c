"""The marginal loss equals a sum over every right choice, and never gives NaN."""

import math

import torch
from tests.nn.coreference.small import small_document, small_head

from spanwise.nn.coreference.antecedents import Antecedents
from spanwise.nn.coreference.loss import antecedent_loss, mention_loss


def random_antecedents(k=9, c=4, seed=0):
    draw = torch.Generator().manual_seed(seed)
    index = torch.stack([torch.randperm(k, generator=draw)[:c].sort().values for _ in range(k)])
    valid = index < torch.arange(k)[:, None]
    scores = torch.randn(k, c, generator=draw, dtype=torch.float64).float().masked_fill(~valid, -torch.inf)
    return Antecedents(index, valid, scores.requires_grad_())


def brute_force(found, clusters):
    """-log of the chance that every span takes one of its right antecedents, spans being independent."""
    total = 0.0
    for i, cluster in enumerate(clusters):
        weights = {-1: 1.0}
        for place, j in enumerate(found.index_kc[i].tolist()):
            if found.valid_kc[i, place]:
                weights[j] = math.exp(found.scores_kc[i, place].item())
        right = [j for j in weights if j >= 0 and cluster > 0 and clusters[j] == cluster] or [-1]
        total -= math.log(sum(weights[j] for j in right) / sum(weights.values()))
    return total


def test_the_loss_is_that_of_a_computation_choice_by_choice():
    for seed in range(5):
        found = random_antecedents(seed=seed)
        clusters = torch.randint(0, 3, (9,), generator=torch.Generator().manual_seed(seed))
        loss = antecedent_loss(found, clusters)
        assert abs(loss.sum.item() - brute_force(found, clusters.tolist())) < 1e-4


def test_the_gradient_is_the_chance_less_the_chance_among_the_right_ones():
    found = random_antecedents()
    clusters = torch.tensor([1, 0, 1, 2, 1, 2, 0, 1, 2])
    antecedent_loss(found, clusters).sum.backward()
    scores = torch.nn.functional.pad(found.scores_kc.detach(), (1, 0))
    same = (clusters[:, None] == clusters[found.index_kc]) & (clusters[:, None] > 0) & found.valid_kc
    right = torch.cat([~same.any(1, keepdim=True), same], 1)
    expected = torch.softmax(scores, 1) - torch.softmax(scores.masked_fill(~right, -torch.inf), 1)
    torch.testing.assert_close(found.scores_kc.grad, expected[:, 1:])


def test_no_mention_one_mention_and_no_span_give_finite_losses_and_gradients():
    for num_spans, clusters in ((4, [0, 0, 0, 0]), (4, [0, 1, 0, 0]), (1, [1]), (1, [0])):
        head = small_head()
        hidden, document = small_document(20, num_spans=num_spans)
        hidden.requires_grad_()
        linked = head(hidden, document, num_antecedents=3)
        clusters = torch.tensor(clusters)[: len(linked.start_k)]
        loss = antecedent_loss(linked.antecedents, clusters).sum + mention_loss(linked.mention_k, clusters).sum
        loss.backward()
        assert torch.isfinite(loss) and torch.isfinite(hidden.grad).all()
        assert all(torch.isfinite(p.grad).all() for p in head.parameters() if p.grad is not None)
    none = torch.zeros((0, 0))
    assert antecedent_loss(Antecedents(none.long(), none.bool(), none), torch.zeros(0).long()).sum == 0


def test_right_decisions_are_counted():
    scores = torch.tensor([[-torch.inf], [2.0], [-1.0]])
    found = Antecedents(torch.tensor([[0], [0], [1]]), torch.tensor([[False], [True], [True]]), scores)
    assert antecedent_loss(found, torch.tensor([1, 1, 1])).num_correct == 2  # the third should have gone back
    assert antecedent_loss(found, torch.tensor([0, 0, 0])).num_correct == 2
    assert mention_loss(torch.tensor([1.0, -1.0, 3.0]), torch.tensor([5, 0, 0])).num_correct == 2
