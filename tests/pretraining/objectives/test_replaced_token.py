import math

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import mannwhitneyu
from tests.nn.toy import toy_config
from toy_packs import pack_of

from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.objectives import ReplacedToken
from spanwise.pretraining.objectives.base import Corrupted
from spanwise.pretraining.objectives.replaced_token import NUM_BINS, ReplacedTokenLoss, ReplacedTokenTargets, _tally
from spanwise.pretraining.packs import Spans


def make_case(num_tokens=12, num_filler=4):
    generator = torch.Generator().manual_seed(0)
    scorer = ReplacedToken().build(Encoder(toy_config()))
    hidden = torch.randn(num_tokens + num_filler, 32, generator=generator) * 3
    original = torch.arange(num_tokens + num_filler)
    ids = original.clone()
    ids[torch.tensor([2, 5])] = 70
    ids[num_tokens:] = 99  # differs everywhere among the filler, which must not count
    return scorer, hidden, asked_for(num_tokens), Corrupted(input_ids=ids, original_ids=original)


def asked_for(num_tokens):
    return ReplacedTokenTargets(asked=torch.zeros(num_tokens, dtype=torch.int64))


def test_the_loss_is_the_binary_cross_entropy_of_all_real_tokens_and_of_no_filler():
    scorer, hidden, targets, corrupted = make_case()
    found = scorer(hidden, targets, corrupted=corrupted, per_row=True)
    scores = scorer.out(F.gelu(scorer.dense(hidden[:12])))[:, 0]
    labels = torch.zeros(12)
    labels[[2, 5]] = 1.0
    expected = F.binary_cross_entropy_with_logits(scores, labels, reduction="none")
    torch.testing.assert_close(found.losses, expected.detach())
    torch.testing.assert_close(found.sum, expected.sum())
    assert int(found.num_correct) == int(((scores > 0) == labels.bool()).sum())
    assert targets.count == 12


def test_a_token_that_the_generator_guessed_right_is_no_replacement():
    scorer, hidden, targets, corrupted = make_case()
    same = Corrupted(input_ids=corrupted.original_ids, original_ids=corrupted.original_ids)
    tallies = scorer.eval()(hidden, targets, corrupted=same).tallies
    assert tallies.sum(1).tolist() == [12, 0]


def test_targets_are_all_real_tokens_the_specials_too():
    pack = pack_of([[0, 1, 2, 0], [0, 1, 0]])
    none = torch.zeros(0, dtype=torch.int64).numpy()
    spans = Spans(sequence=none, start=none, end=none)
    assert ReplacedToken().targets(pack, spans, hidden_tokens(pack, spans)).count == 7
    assert ReplacedToken().targets_per_token(128.0) == 1.0


def test_no_token_gives_a_loss_of_zero():
    scorer, hidden, _, corrupted = make_case()
    found = scorer(hidden, asked_for(0), corrupted=corrupted)
    found.sum.backward()
    assert float(found.sum.detach()) == 0.0 and scorer.dense.weight.grad.abs().sum() == 0.0


def test_tallies_are_made_while_evaluating_alone():
    scorer, hidden, targets, corrupted = make_case()
    assert scorer.train()(hidden, targets, corrupted=corrupted).tallies is None
    assert scorer.eval()(hidden, targets, corrupted=corrupted).tallies.shape == (2, NUM_BINS)


def test_measures_are_those_of_their_definitions():
    generator = torch.Generator().manual_seed(1)
    labels = torch.rand(5_000, generator=generator) < 0.15
    scores = torch.randn(5_000, generator=generator) * 2 - 1 + 2.0 * labels
    found = ReplacedTokenLoss.measures(_tally(scores, labels))
    called = scores > 0
    wins = mannwhitneyu(scores[labels].numpy(), scores[~labels].numpy()).statistic
    assert found["precision"] == pytest.approx(float(labels[called].float().mean()))
    assert found["recall"] == pytest.approx(float(called[labels].float().mean()))
    assert found["auc"] == pytest.approx(wins / (int(labels.sum()) * int((~labels).sum())), abs=1e-3)
    assert found["replaced_share"] == pytest.approx(float(labels.float().mean()))


def test_what_is_not_defined_is_left_out():
    nothing = ReplacedTokenLoss.measures(_tally(torch.full((4,), -3.0), torch.zeros(4, dtype=torch.bool)))
    assert nothing == {"replaced_share": 0.0}
    extremes = _tally(torch.tensor([-500.0, 0.0, 500.0, math.inf]), torch.zeros(4, dtype=torch.bool))
    assert extremes[0, 0] == 1 and extremes[0, NUM_BINS // 2 - 1] == 1 and extremes[0, -1] == 2


def test_the_weight_is_fifty_and_never_negative():
    assert ReplacedToken().weight == 50.0
    with pytest.raises(ConfigError, match=r"weight cannot be -1\.0; expected at least 0"):
        ReplacedToken(weight=-1.0)
