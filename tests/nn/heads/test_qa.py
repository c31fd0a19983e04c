import torch
from tests.nn.toy import toy_config

from spanwise.nn.heads.qa import QuestionAnsweringHead


def test_two_float32_scores_a_token():
    head = QuestionAnsweringHead(toy_config())
    with torch.autocast("cpu", torch.bfloat16):
        scores = head(torch.randn(9, 32))
    assert scores.shape == (9, 2) and scores.dtype == torch.float32
    assert sum(parameter.numel() for parameter in head.parameters()) == 2 * 32 + 2


def test_on_a_pre_norm_encoder_the_independent_form_has_a_product_and_a_norm_more():
    config = toy_config(norm_place="pre")
    head, hidden = QuestionAnsweringHead(config), torch.randn(9, 32)
    torch.testing.assert_close(head(hidden), head.linear(head.transform(hidden)))
    assert QuestionAnsweringHead(config, joint=True).transform is None
    assert QuestionAnsweringHead(toy_config()).transform is None


def electra_end_scores(head, starts, tokens):
    """As written: start and token side by side, one product, GELU, one product."""
    both = torch.cat([starts[:, None].expand(-1, len(tokens), -1), tokens[None].expand(len(starts), -1, -1)], dim=-1)
    return head.end(torch.nn.functional.gelu(head.hidden(both))).squeeze(-1)


def test_the_joint_form_reads_start_and_token_side_by_side():
    torch.manual_seed(0)
    head = QuestionAnsweringHead(toy_config(), joint=True)
    tokens, starts = torch.randn(7, 32), torch.randn(3, 32)
    found = head.end_scores(starts, tokens)
    torch.testing.assert_close(found, electra_end_scores(head, starts, tokens))
    of_each = head.end_scores(starts, tokens, torch.tensor([0, 0, 1, 2, 2, 1, 0]))
    torch.testing.assert_close(of_each, found[[0, 0, 1, 2, 2, 1, 0], range(7)])
    assert head.start_scores(tokens).shape == (7,) and head.is_joint and head.linear is None


def test_a_classifier_reads_the_first_token_or_also_the_mean_start():
    plain = QuestionAnsweringHead(toy_config(), answerable=True)
    joint = QuestionAnsweringHead(toy_config(), joint=True, answerable=True)
    first, mean = torch.randn(4, 32), torch.randn(4, 32)
    assert {name for name, _ in plain.named_parameters()} == {
        "linear.weight", "linear.bias", "answerable.out.weight", "answerable.out.bias",
    }  # fmt: skip
    torch.testing.assert_close(plain.answerable(first), plain.answerable.out(first)[:, 0])
    dense = torch.nn.functional.gelu(joint.answerable.dense(torch.cat([first, mean], dim=1)))
    torch.testing.assert_close(joint.answerable(first, mean), joint.answerable.out(dense)[:, 0])
    with torch.autocast("cpu", torch.bfloat16):
        assert joint.answerable(first, mean).dtype == joint.end_scores(first, mean).dtype == torch.float32
