import pytest
import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import ConfigError
from spanwise.nn.heads.kind import FORMS
from spanwise.nn.heads.sequence import MIN_ROWS, SequenceHead, score_by_parts
from spanwise.nn.sequences import Sequences

SEQUENCES = Sequences.from_lengths([4, 1, 6])
FIRST, LAST = [0, 4, 5], [3, 4, 10]


def read_by(form, hidden):
    """What each sequence is judged by."""
    if form == "normed_mean":
        return torch.stack([part.mean(0) for part in hidden.split(SEQUENCES.lengths)])
    return hidden[LAST if form.startswith("last") else FIRST]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_reads_what_its_systems_read(form):
    encoder = toy_encoder(pooler=True)
    head = SequenceHead(encoder.config, 3, form, encoder.pooler).eval()
    hidden = torch.randn(11, 32, generator=torch.Generator().manual_seed(0))
    rows = read_by(form, hidden)
    if form == "pooled":
        rows = torch.tanh(F.linear(rows, encoder.pooler.dense.weight, encoder.pooler.dense.bias))
    elif form in ("tanh", "gelu"):
        rows = getattr(F, form)(F.linear(rows, head.dense.weight, head.dense.bias))
    elif form.startswith("normed"):
        torch.nn.init.normal_(head.norm.weight)
        rows = F.gelu(F.linear(rows, head.dense.weight, head.dense.bias))
        rows = F.layer_norm(rows, (32,), head.norm.weight, head.norm.bias, encoder.config.norm_eps)
    expected = F.linear(rows, head.out.weight, head.out.bias)
    torch.testing.assert_close(head(hidden, SEQUENCES), expected, atol=1e-6, rtol=1e-6)


def test_the_pooler_stays_the_encoders_and_is_trained_through_the_head():
    encoder = toy_encoder(pooler=True)
    head = SequenceHead(encoder.config, 2, "pooled", encoder.pooler)
    assert {name for name, _ in head.named_parameters()} == {"out.weight", "out.bias"}
    head(torch.randn(11, 32), SEQUENCES).sum().backward()
    assert encoder.pooler.dense.weight.grad.abs().sum() > 0


def test_gpt_has_no_bias_and_the_others_have_one():
    for form in FORMS:
        head = SequenceHead(toy_config(), 2, form, torch.nn.Identity())
        assert (head.out.bias is None) == (form == "last")


def test_dropout_is_drawn_in_training_alone():
    head = SequenceHead(toy_config(hidden_dropout=0.5), 2, "tanh")
    hidden = torch.randn(11, 32)
    assert not torch.equal(head(hidden, SEQUENCES), head(hidden, SEQUENCES))
    assert torch.equal(head.eval()(hidden, SEQUENCES), head(hidden, SEQUENCES))


def test_a_pooled_head_on_an_encoder_without_pooler_is_refused():
    with pytest.raises(ConfigError, match="encoder has none"):
        SequenceHead(toy_config(), 2, "pooled", None)


def test_scores_are_float32_under_autocast():
    head = SequenceHead(toy_config(), 2, "gelu")
    with torch.autocast("cpu", torch.bfloat16):
        assert head(torch.randn(11, 32), SEQUENCES).dtype == torch.float32


@pytest.mark.parametrize("form", FORMS)
def test_reading_and_scoring_are_the_two_halves_of_the_head(form):
    encoder = toy_encoder(pooler=True)
    head = SequenceHead(encoder.config, 2, form, encoder.pooler).eval()
    hidden = torch.randn(11, 32)
    rows = head.read(hidden, SEQUENCES)
    torch.testing.assert_close(rows, read_by(form, hidden))
    assert torch.equal(head.score(rows), head(hidden, SEQUENCES))


@pytest.mark.parametrize("form", FORMS)
def test_the_bits_of_a_sequence_do_not_depend_on_how_many_are_asked_for(form):
    """A product of one row rounds otherwise than one of twenty, on one thread too."""
    encoder = toy_encoder(pooler=True)
    head = SequenceHead(encoder.config, 2, form, encoder.pooler).eval()
    rows = torch.randn(20, 32, generator=torch.Generator().manual_seed(0))
    all_20 = head.score(rows)
    for number in (1, 2, 7, 15, 19):
        assert torch.equal(head.score(rows[:number]), all_20[:number])


def test_rows_are_scored_by_parts_of_one_size_and_the_filler_is_left_out():
    sizes = []

    def score_rows(rows):
        sizes.append(len(rows))
        return rows.sum(1)

    rows = torch.arange(2.0 * (MIN_ROWS + 3)).view(-1, 2)
    assert torch.equal(score_by_parts(score_rows, rows), rows.sum(1)) and sizes == [MIN_ROWS, MIN_ROWS]


def test_in_prediction_the_bits_of_a_sequence_hang_on_no_other_sequence():
    head = SequenceHead(toy_config(), 3, "tanh").eval()
    rows = torch.randn(MIN_ROWS + 5, 32, generator=torch.Generator().manual_seed(0))
    alone = torch.cat([head.score(row) for row in rows.split(1)])
    assert torch.equal(head.score(rows), alone)
