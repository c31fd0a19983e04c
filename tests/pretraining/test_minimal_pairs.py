import json

import pytest
import torch
from test_system import small

from spanwise.errors import DataError
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_logits
from spanwise.pretraining.minimal_pairs import (
    MinimalPair,
    judge_minimal_pairs,
    pseudo_log_likelihoods,
    read_minimal_pairs,
)
from spanwise.pretraining.system import build_model


@pytest.fixture(scope="module")
def model(tiny_store):
    return build_model(small(), tiny_store.vocabulary.size)


def test_a_score_is_the_sum_over_tokens_masked_one_at_a_time(model, tiny_store):
    tokenizer, encoder, head = tiny_store.tokenizer(), model.encoder.eval(), model.heads["mlm"].eval()
    sentence = "The old river ran past a stone bridge."
    ids = [tokenizer.cls_id, *map(int, tokenizer.encode(sentence).ids), tokenizer.sep_id]
    total = 0.0
    for place in range(1, len(ids) - 1):
        masked = torch.tensor([*ids[:place], tokenizer.mask_id, *ids[place + 1 :]])
        with torch.no_grad():
            hidden = encoder(masked, torch.zeros_like(masked), Sequences.from_lengths([len(ids)]))
            row = head.transform(hidden[place : place + 1])
            logits = vocabulary_logits(row, head.weight, head.bias, encoder.config.vocab_size)
        total += float(torch.log_softmax(logits, -1)[0, ids[place]])
    found = pseudo_log_likelihoods(["In winter.", sentence], encoder, head, tokenizer, max_tokens=40)
    assert found[1] == pytest.approx(total, abs=1e-4)
    assert found[0] < 0 and found[0] != found[1]


def test_equal_sentences_tie_and_errors_are_clustered_by_paradigm(model, tiny_store):
    pairs = [MinimalPair(good="The river.", bad="The river.", paradigm=str(i % 3)) for i in range(6)]
    right = judge_minimal_pairs(pairs, model.encoder, model.heads["mlm"], tiny_store.tokenizer())
    assert right.tolist() == [0.5] * 6


def test_rows_are_read_and_a_bad_one_is_named(tmp_path):
    path = tmp_path / "pairs.jsonl"
    row = {"sentence_good": "A cat sleeps.", "sentence_bad": "A cat sleep.", "UID": "agreement"}
    path.write_text(json.dumps(row) + "\n\n")
    assert read_minimal_pairs(path) == [MinimalPair(good="A cat sleeps.", bad="A cat sleep.", paradigm="agreement")]
    path.write_text(json.dumps(row) + "\n{}\n")
    with pytest.raises(DataError, match="line 2"):
        read_minimal_pairs(path)
    path.write_text(json.dumps({**row, "sentence_good": None}) + "\n")
    with pytest.raises(DataError, match="line 1"):
        read_minimal_pairs(path)
    path.write_text("[1]\n")
    with pytest.raises(DataError, match=r"line 1 is \[1\]; expected a JSON object with sentence_good"):
        read_minimal_pairs(path)
    path.write_text("{\n")
    with pytest.raises(DataError, match="line 1 is not JSON"):
        read_minimal_pairs(path)
    path.write_text("\n")
    with pytest.raises(DataError, match="no pair"):
        read_minimal_pairs(path)


def test_a_long_row_is_read_whole(tmp_path):
    row = {"sentence_good": "a" * (1 << 20), "sentence_bad": "b", "UID": "length"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    assert [len(pair.good) for pair in read_minimal_pairs(tmp_path / "pairs.jsonl")] == [1 << 20]
