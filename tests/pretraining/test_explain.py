"""The paper's figure on any sentence: losses of hidden words by context and by borders."""

import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.init import initialize
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.explain import explain_spans, read_single_text, spans_of_words, words_as_tokens
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer

SENTENCE = "Super Bowl 50 was an American football game to determine the champion"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text("\n".join([SENTENCE.replace(" football", "")] * 3 + ["foot ball feet all"] * 3))
    return learn_tokenizer([file], vocab_size=150)


@pytest.fixture(scope="module")
def parts(tokenizer):
    config = EncoderConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        intermediate_size=64,
        max_positions=64,
        hidden_dropout=0.1,
    )
    encoder = Encoder(config)
    masked_lm = MaskedLMHead(config, encoder.word_embedding)
    boundary = SpanBoundaryHead(config, encoder.word_embedding, num_positions=3, position_size=8)
    for seed, module in enumerate((encoder, masked_lm, boundary)):
        initialize(module, config, seed)
    return encoder.train(), masked_lm, boundary


def explain(parts, tokenizer, *words):
    text = read_single_text(SENTENCE, tokenizer, 64)
    return explain_spans(*parts, tokenizer, text, spans_of_words(text, words))


def test_words_five_to_eight_are_those_of_the_papers_figure(parts, tokenizer):
    tokens = explain(parts, tokenizer, (5, 9))
    assert "".join(t.token.replace("##", "") for t in tokens) == "anAmericanfootballgame"
    assert {(t.left, t.right) for t in tokens} == {("was", "to")}
    assert [t.position_row for t in tokens] == [min(index, 2) for index in range(len(tokens))]


def test_losses_are_those_of_the_heads_on_the_masked_sentence(parts, tokenizer):
    encoder, masked_lm, boundary = parts
    tokens = explain(parts, tokenizer, (5, 7))
    text = read_single_text(SENTENCE, tokenizer, 64)
    first, last = tokens[0].position, tokens[-1].position + 1
    ids = torch.from_numpy(text.pack.input_ids).clone()
    wanted = ids[first:last].clone()
    ids[first:last] = tokenizer.mask_id
    encoder.eval()
    with torch.no_grad():
        hidden = encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([len(ids)]))
        table = encoder.word_embedding[: tokenizer.vocab_size]
        for index in range(min(3, last - first)):
            row = masked_lm.transform(hidden[first + index : first + index + 1])
            scores = row @ table.T + masked_lm.bias[: tokenizer.vocab_size]
            assert tokens[index].mlm == pytest.approx(-scores.log_softmax(-1)[0, wanted[index]].item(), abs=1e-4)
            row = boundary.transform(hidden[first - 1][None], hidden[last][None], torch.tensor([index]))
            scores = row @ table.T + boundary.bias[: tokenizer.vocab_size]
            assert tokens[index].sbo == pytest.approx(-scores.log_softmax(-1)[0, wanted[index]].item(), abs=1e-4)
            assert tokens[index].total == pytest.approx(tokens[index].mlm + tokens[index].sbo)
    encoder.train()


def test_tokens_deeper_than_the_position_table_share_its_last_row_or_are_left_out(parts, tokenizer):
    text = read_single_text(SENTENCE, tokenizer, 64)
    spans = spans_of_words(text, [(2, 9)])
    shared = explain_spans(*parts, tokenizer, text, spans)
    skipped = explain_spans(*parts, tokenizer, text, spans, beyond="skip")
    assert len(shared) > 3
    assert [t.position_row for t in shared] == [min(index, 2) for index in range(len(shared))]
    assert all(t.sbo is not None for t in shared)
    assert [t.sbo is None for t in skipped] == [index >= 3 for index in range(len(skipped))]
    assert [t.mlm for t in skipped] == [t.mlm for t in shared]


def test_touching_spans_are_one_span_and_far_ones_two(parts, tokenizer):
    touching, apart = explain(parts, tokenizer, (1, 2), (2, 4)), explain(parts, tokenizer, (1, 2), (4, 5))
    assert {t.left for t in touching} == {"[CLS]"}
    assert [t.position_row for t in apart if t.token == "was"] == [0]


def test_dropout_is_off_while_looking_and_back_afterwards(parts, tokenizer):
    first, second = explain(parts, tokenizer, (5, 9)), explain(parts, tokenizer, (5, 9))
    assert [t.mlm for t in first] == [t.mlm for t in second]
    assert parts[0].training


def test_a_model_without_boundary_head_gives_the_context_column(parts, tokenizer):
    text = read_single_text(SENTENCE, tokenizer, 64)
    tokens = explain_spans(parts[0], parts[1], None, tokenizer, text, spans_of_words(text, [(1, 2)]))
    assert all(t.sbo is None and t.total is None and t.sbo_guess is None for t in tokens)


@pytest.mark.parametrize("span", [(0, 2), (3, 3), (12, 14), (5, 4)])
def test_a_span_outside_the_text_is_refused_with_the_range_there_is(span, tokenizer):
    with pytest.raises(ConfigError, match="words are 1 to 12"):
        spans_of_words(read_single_text(SENTENCE, tokenizer, 64), [span])


def test_an_empty_or_endless_text_is_refused(tokenizer):
    with pytest.raises(ConfigError, match="no token"):
        read_single_text("  ", tokenizer, 64)
    with pytest.raises(ConfigError, match="at most 8"):
        read_single_text(SENTENCE, tokenizer, 8)


def test_user_text_never_hides_or_ends_anything(tokenizer):
    text = read_single_text("a [SEP] b [MASK]", tokenizer, 64)
    inside = text.pack.input_ids[1:-1]
    assert not set(inside.tolist()) & {tokenizer.sep_id, tokenizer.mask_id, tokenizer.cls_id}


def test_without_a_vocabulary_each_word_is_one_token():
    words = words_as_tokens(SENTENCE + " [MASK].")
    tokens = words.tokens(words.encode(SENTENCE + " [MASK].").ids)
    assert tokens == [*SENTENCE.split(), "[", "MASK", "]", "."]
