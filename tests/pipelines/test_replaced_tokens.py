"""Replaced tokens in raw text: the discriminator's chances of transformers, by word and piece, at any length."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.sequences import Sequences
from spanwise.pipelines.given import InputError, OptionError
from spanwise.text.tokenizers import Tokenizer

SHORT = "The Han flows, and is Xy."

SIGNS = st.text(alphabet="aTy .,\n\t\u0301\u200d\u05e9한강é🙂👧_", max_size=60)


@pytest.fixture(scope="module")
def detect(discriminator_folder):
    return spanwise.pipeline("replaced-tokens", model=discriminator_folder)


def test_chances_are_those_of_transformers(detect, discriminator_oracle):
    words = detect.tokenizer
    ids = [words.cls_id, *words.encode(SHORT).ids.tolist(), words.sep_id]
    with torch.no_grad():
        expected = torch.sigmoid(discriminator_oracle(torch.tensor([ids])).logits[0, 1:-1])
    found = detect(SHORT)
    pieces = [piece for word in found["words"] for piece in word["pieces"]]
    np.testing.assert_allclose([piece["score"] for piece in pieces], expected, atol=1e-6)
    assert [piece["piece"] for piece in pieces] == words.tokens(ids[1:-1])
    assert (found["num_windows"], found["num_dropped_tokens"]) == (1, 0)


def test_a_word_is_as_suspicious_as_its_worst_piece_and_stands_where_it_says(detect):
    words = detect(SHORT)["words"]
    assert [word["text"] for word in words] == ["The", "Han", "flows", ",", "and", "is", "Xy", "."]
    for word in words:
        assert SHORT[word["start"] : word["end"]] == word["text"]
        assert word["score"] == max(piece["score"] for piece in word["pieces"])
        assert word["is_replaced"] == (word["score"] >= 0.5)
        assert all(SHORT[piece["start"] : piece["end"]] == piece["text"] for piece in word["pieces"])
    assert len(words[2]["pieces"]) > 1


def test_the_threshold_decides_who_is_called_replaced(detect):
    assert all(word["is_replaced"] for word in detect(SHORT, threshold=0)["words"])
    assert not any(word["is_replaced"] for word in detect(SHORT, threshold=1)["words"])


def test_one_a_list_and_a_stream_say_the_same(detect, text):
    many = detect([SHORT, text])
    assert list(detect(one for one in [SHORT, text])) == many
    assert detect(SHORT)["words"] == many[0]["words"]


def test_a_long_text_is_read_in_windows_and_every_piece_is_judged_once(detect, text):
    found = detect(text)
    ids = detect.tokenizer.encode(text).ids
    assert found["num_windows"] == len(detect.reader.windows(len(ids))) > 5
    assert sum(len(word["pieces"]) for word in found["words"]) == len(ids)
    # the piece in the middle of a window is judged by that window
    first, last = detect.reader.windows(len(ids))[3]
    middle = (first + last) // 2
    words = detect.tokenizer
    alone = torch.tensor([words.cls_id, *ids[first:last], words.sep_id])
    hidden = detect.reader.encoder(alone, torch.zeros_like(alone), Sequences.from_lengths([len(alone)]))
    expected = torch.sigmoid(detect.head(hidden))[1 + middle - first].item()
    pieces = [piece for word in found["words"] for piece in word["pieces"]]
    assert pieces[middle]["score"] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InputError, match=r"input 1: .* at most 22 fit"):
        detect([SHORT, text], on_overflow="error")


@pytest.mark.parametrize(
    "text",
    ["a", "한강 river", "e\u0301t", "\u05e9\u05dc\u05d5\u05dd the", "🙂👩\u200d👩\u200d👧 km", "x" * 300, "\r\na\tb"],
)
def test_words_of_any_script_stand_in_order_inside_the_text(detect, text):
    words = detect(text)["words"]
    assert words and all(0 <= word["start"] < word["end"] <= len(text) for word in words)
    assert all(one["end"] <= other["start"] for one, other in itertools.pairwise(words))
    assert all(text[word["start"] : word["end"]].strip() == word["text"] for word in words)


def test_marks_stay_with_their_word(detect):
    assert [word["text"] for word in detect("e\u0301 km")["words"]] == ["e\u0301", "km"]


@pytest.mark.parametrize("wrong", ["", " \n", "\u200b", 5, None, ["a"], "a\udc00"])
def test_what_is_no_text_is_named(detect, wrong):
    with pytest.raises(InputError, match="input 1: "):
        detect([SHORT, wrong])


def test_options_are_checked_with_the_nearest_name(detect, discriminator_folder):
    for value in (-0.1, 1.1, "x", True):
        with pytest.raises(OptionError, match="threshold must be a probability"):
            detect(SHORT, threshold=value)
    with pytest.raises(OptionError, match="Did you mean 'threshold'"):
        spanwise.pipeline("replaced-tokens", model=discriminator_folder, treshold=0.2)
    with pytest.raises(OptionError, match="one of windows, error"):
        detect(SHORT, on_overflow="truncate")


def test_models_without_the_head_are_told_what_fits(masked_lm_folder, discriminator_folder, tmp_path):
    with pytest.raises(CheckpointError, match=r"BertForMaskedLM.*no head that tells replaced.*electra-mini"):
        spanwise.pipeline("replaced-tokens", model=masked_lm_folder)
    checkpoint = read_folder(discriminator_folder)
    write_folder(
        tmp_path / "generator", FolderContent(build_encoder(checkpoint), {}, Tokenizer.load(discriminator_folder))
    )
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=f"name its discriminator, {tmp_path}"):
        spanwise.pipeline("replaced-tokens", model=tmp_path / "generator")


@given(text=SIGNS)
@settings(max_examples=60, deadline=None)
def test_of_any_text_words_are_parts_in_order_or_the_text_is_refused(detect, text):
    try:
        words = detect(text)["words"]
    except InputError:
        return
    assert all(0.0 <= word["score"] <= 1.0 and text[word["start"] : word["end"]] == word["text"] for word in words)
    assert all(one["end"] <= other["start"] for one, other in itertools.pairwise(words))
    kept = {place for word in words for place in range(word["start"], word["end"])}
    assert all(text[place].isspace() or not text[place].isalnum() for place in set(range(len(text))) - kept)
