"""Vectors of spans: what transformers' hidden states say, snapped to pieces, read in the best window."""

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
from spanwise.nn.coreference.head import CoreferenceHead, HeadSizes
from spanwise.nn.init import initialize
from spanwise.pipelines.given import InputError, OptionError
from spanwise.text.tokenizers import Tokenizer

TEXT = "The Han flows, and is Xy."
SPANS = [[0, 7], [8, 13], [22, 24]]  # "The Han", "flows", "Xy"

SIGNS = st.text(alphabet="aTy .,\n\t\u0301\u200d\u05e9한강é🙂👧_", max_size=60)


@pytest.fixture(scope="module")
def embed(discriminator_folder):
    return spanwise.pipeline("span-embedding", model=discriminator_folder)


@pytest.fixture(scope="module")
def coref_folder(discriminator_folder, tmp_path_factory):
    """The same encoder with a coreference head that knows widths up to 3 pieces."""
    checkpoint = read_folder(discriminator_folder)
    encoder = build_encoder(checkpoint)
    head = CoreferenceHead(encoder.config, HeadSizes(ffn_size=8, feature_size=5, max_width=3))
    initialize(head, encoder.config, seed=5)
    folder = tmp_path_factory.mktemp("coref")
    write_folder(
        folder, FolderContent(encoder, {"coref": head}, Tokenizer.load(discriminator_folder), main_head="coref")
    )
    return folder


def theirs(discriminator_oracle, words, text):
    ids = [words.cls_id, *words.encode(text).ids.tolist(), words.sep_id]
    with torch.no_grad():
        return discriminator_oracle.electra(torch.tensor([ids])).last_hidden_state[0, 1:-1].numpy()


def test_vectors_are_made_of_the_hidden_states_of_transformers(embed, discriminator_oracle):
    states = theirs(discriminator_oracle, embed.tokenizer, TEXT)
    found = embed({"text": TEXT, "spans": SPANS})
    ranges = []
    offsets = embed.tokenizer.encode(TEXT).offsets
    for start, end in SPANS:
        inside = [k for k, (a, b) in enumerate(offsets) if start <= a and b <= end]
        ranges.append((inside[0], inside[-1] + 1))
    expected = np.stack([np.concatenate([states[a], states[b - 1]]) for a, b in ranges])
    np.testing.assert_allclose(found["embeddings"], expected, atol=1e-5)
    assert found["embeddings"].dtype == np.float32
    assert [span["text"] for span in found["spans"]] == ["The Han", "flows", "Xy"]
    assert [span["num_pieces"] for span in found["spans"]] == [b - a for a, b in ranges]
    means = embed({"text": TEXT, "spans": SPANS}, kind="mean")["embeddings"]
    np.testing.assert_allclose(means, np.stack([states[a:b].mean(0) for a, b in ranges]), atol=1e-5)


def test_widths_are_the_coreference_models_and_longer_ones_count_as_its_greatest(embed, coref_folder):
    wide = spanwise.pipeline("span-embedding", model=coref_folder, kind="boundary+width")
    found = wide({"text": TEXT, "spans": SPANS})
    plain = embed({"text": TEXT, "spans": SPANS})
    size = plain["embeddings"].shape[1]
    np.testing.assert_allclose(found["embeddings"][:, :size], plain["embeddings"], atol=1e-5)
    table = read_folder(coref_folder).heads["coref"]["spans.width.weight"].numpy()
    counts = [span["num_pieces"] for span in found["spans"]]
    assert counts[0] == 2 and max(counts) > 3
    expected = np.stack([table[min(count, 3) - 1] for count in counts])
    np.testing.assert_array_equal(found["embeddings"][:, size:], expected)
    assert [span["is_width_cut"] for span in found["spans"]] == [count > 3 for count in counts]


def test_without_a_coreference_head_there_is_no_width(embed, discriminator_folder):
    for ask in (
        lambda: embed({"text": TEXT, "spans": SPANS}, kind="boundary+width"),
        lambda: spanwise.pipeline("span-embedding", model=discriminator_folder, kind="boundary+width"),
    ):
        with pytest.raises(CheckpointError, match=r"no embedding of widths.*finetune coref.*kind='boundary'"):
            ask()


def test_one_a_list_and_a_stream_say_the_same(embed, text):
    items = [{"text": TEXT, "spans": SPANS}, {"text": text, "spans": [{"start": 0, "end": 13}, (100, 110)]}]
    many = embed(items)
    for one, other in zip(embed(item for item in items), many, strict=True):
        np.testing.assert_array_equal(one["embeddings"], other["embeddings"])
        assert one["spans"] == other["spans"]
    np.testing.assert_allclose(embed(items[0])["embeddings"], many[0]["embeddings"], atol=1e-5)


def test_a_span_that_ends_inside_a_piece_is_snapped_outward_and_says_so(embed):
    found = embed({"text": TEXT, "spans": [[1, 6], [0, 7], [7, 13]]})
    assert [(span["start"], span["end"], span["is_snapped"]) for span in found["spans"]] == [
        (0, 7, True), (0, 7, False), (7, 13, False)
    ]  # fmt: skip
    np.testing.assert_array_equal(found["embeddings"][0], found["embeddings"][1])


def test_a_long_text_is_read_where_a_span_has_most_around_it(embed, text, discriminator_oracle):
    words = embed.tokenizer
    encoding = words.encode(text)
    place = text.index("Yangpyeong")
    found = embed({"text": text, "spans": [[place, place + 10]]})
    assert found["num_windows"] == 1 and found["num_dropped_tokens"] == 0  # the others hold no span
    inside = np.flatnonzero((encoding.offsets[:, 0] >= place) & (encoding.offsets[:, 1] <= place + 10))
    windows = [(a, b) for a, b in embed.reader.windows(len(encoding.ids)).tolist() if a <= inside[0] and inside[-1] < b]
    first, last = max(windows, key=lambda w: min(inside[0] - w[0], w[1] - 1 - inside[-1]))
    ids = torch.tensor([[words.cls_id, *encoding.ids[first:last], words.sep_id]])
    with torch.no_grad():
        states = discriminator_oracle.electra(ids).last_hidden_state[0, 1:-1].numpy()
    expected = np.concatenate([states[inside[0] - first], states[inside[-1] - first]])
    np.testing.assert_allclose(found["embeddings"][0], expected, atol=1e-5)
    everywhere = embed({"text": text, "spans": [[a, b] for a, b in encoding.offsets.tolist()]})
    assert everywhere["num_windows"] == len(embed.reader.windows(len(encoding.ids)))
    with pytest.raises(InputError, match="at most 22 fit"):
        embed({"text": text, "spans": [[0, 3]]}, on_overflow="error")


def test_a_span_that_no_window_holds_gets_one_of_its_own_and_one_too_long_is_refused(embed, text):
    offsets = embed.tokenizer.encode(text).offsets
    start, end = int(offsets[8, 0]), int(offsets[27, 1])  # 20 of 22 pieces, across the border of the first two windows
    found = embed({"text": text, "spans": [[start, end]]}, kind="mean")
    assert found["spans"][0]["num_pieces"] == 20 and found["num_windows"] == 1
    assert np.isfinite(found["embeddings"]).all() and np.abs(found["embeddings"]).max() > 0
    with pytest.raises(InputError, match=r"span 0 .* pieces, and the model reads 22 at a time; part it"):
        embed({"text": text, "spans": [[0, len(text)]]})


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("e\u0301t km", [0, 1]),
        ("\u05e9\u05dc\u05d5\u05dd the", [0, 4]),
        ("🙂 km", [0, 1]),
        ("한강은 길다", [0, 2]),
        ("a", [0, 1]),
    ],
)
def test_spans_of_any_script_are_read(embed, text, span):
    found = embed({"text": text, "spans": [span]})
    told = found["spans"][0]
    assert told["start"] <= span[0] and told["end"] >= span[1] and text[told["start"] : told["end"]] == told["text"]
    assert np.isfinite(found["embeddings"]).all()


def test_no_span_is_an_array_without_rows(embed):
    found = embed({"text": TEXT, "spans": []})
    assert found["embeddings"].shape == (0, 64) and found["spans"] == [] and found["num_windows"] == 0


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"text": TEXT, "spans": [[0, 3], [20, 99]]}, r"span 1 \[20, 99\] lies outside its text of 25 characters"),
        ({"text": TEXT, "spans": [[-1, 3]]}, "span 0 .* lies outside"),
        ({"text": TEXT, "spans": [[5, 3]]}, "span 0 .* lies outside"),
        ({"text": TEXT, "spans": [[3, 3]]}, r"span 0 \[3, 3\] is empty"),
        ({"text": TEXT, "spans": [[3, 4]]}, r"span 0 \[3, 4\] is ' ', of which the tokenizer keeps nothing"),
        ({"text": TEXT, "spans": [[0, 3.5]]}, "span 0 is .* was expected"),
        ({"text": TEXT, "spans": ["0-3"]}, "span 0 is '0-3'; .* was expected"),
        ({"text": TEXT, "spans": [[0, 3, 4]]}, "was expected"),
        ({"text": TEXT, "spans": {"start": 0, "end": 3}}, "'spans' is a dict; a list"),
        ({"text": "", "spans": []}, "'text' is empty"),
        ({"text": 3, "spans": []}, "'text' is a int"),
        ({"text": TEXT}, "'text', 'spans'"),
        (TEXT, "'text', 'spans'"),
    ],
)
def test_what_is_no_span_of_its_text_is_named(embed, item, words):
    with pytest.raises(InputError, match=f"input 1: .*{words}"):
        embed([{"text": TEXT, "spans": SPANS}, item])


def test_options_are_checked_with_the_nearest_name(embed, discriminator_folder):
    with pytest.raises(OptionError, match=r"kinds are boundary, mean, boundary\+width\. Did you mean 'boundary'"):
        embed({"text": TEXT, "spans": SPANS}, kind="boundry")
    with pytest.raises(OptionError, match="Did you mean 'kind'"):
        spanwise.pipeline("span-embedding", model=discriminator_folder, kin="mean")


def test_a_causal_model_without_special_tokens_and_one_of_bert_are_read_too(
    causal_model_folder, classic_folder, vocabulary_folder
):
    for model, tokenizer in ((causal_model_folder, None), (classic_folder, vocabulary_folder)):
        found = spanwise.pipeline("span-embedding", model=model, tokenizer=tokenizer)(
            {"text": "the river", "spans": [[0, 3], [4, 9]]}
        )
        assert found["embeddings"].shape == (2, 64) and np.isfinite(found["embeddings"]).all()


@given(text=SIGNS, start=st.integers(-2, 62), length=st.integers(-1, 20))
@settings(max_examples=80, deadline=None)
def test_any_span_of_any_text_is_read_outward_or_refused(embed, text, start, length):
    try:
        found = embed({"text": text, "spans": [[start, start + length]]})
    except InputError:
        return
    (told,) = found["spans"]
    assert 0 <= told["start"] <= start < start + length <= told["end"] <= len(text)
    assert text[told["start"] : told["end"]] == told["text"] and np.isfinite(found["embeddings"]).all()
    assert told["is_snapped"] == ((told["start"], told["end"]) != (start, start + length))
    again = embed({"text": text, "spans": [[told["start"], told["end"]]]})
    np.testing.assert_array_equal(again["embeddings"], found["embeddings"])  # what was read is what is told
