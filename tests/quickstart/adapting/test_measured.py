"""What is measured: spans of words by three models of one shape, where the start has the heads for it."""

from dataclasses import replace

import numpy as np
import pytest

from spanwise.data.prepare import prepare
from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder
from spanwise.quickstart import learning
from spanwise.quickstart.adapting.measured import filled_before_and_after, make_ruler, three_columns, whole_spans
from spanwise.quickstart.adapting.texts import own_text
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.texts_in import CorpusReader
from spanwise.text.corpus import CorpusOptions, read_documents
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture
def text(towns, tmp_path):
    with open_bundle() as bundle:
        return own_text(CorpusReader([towns], bundle, CorpusOptions(), 60, 10), "en", bundle, tmp_path)


def test_equal_weights_have_equal_scores_and_all_three_fill_the_same_gaps(toys, text, tmp_path):
    start = read_folder(toys.start)
    prepare(read_documents(text.learned, text.options), Tokenizer.load(toys.start), tmp_path / "learned")
    ruler = make_ruler(start, text, tmp_path / "learned", tmp_path / "kept")
    columns = three_columns(ruler, start, toys.start)

    measured = learning.measure_columns(columns, ruler.recipe, ruler.prepared, seconds=2)

    for measure in measured.comparison.measures:
        assert measure.values["init"].value == pytest.approx(measure.values["trained"].value)
        assert measure.gains.get("init").value == pytest.approx(0)
    spans = whole_spans(measured)
    assert spans.num_items == sum(len(one.spans.start) for one in measured.packs)
    right = np.ones(measured.num_hidden, dtype=bool)
    all_right = whole_spans(replace(measured, correct={"trained": right.copy()}))
    right[0] = False  # one token of one span
    one_wrong = whole_spans(replace(measured, correct={"trained": right}))
    assert all_right.values["trained"].value == 100
    assert one_wrong.values["trained"].value == pytest.approx(100 - 100 / spans.num_items)
    assert spans.values["init"].value == spans.values["trained"].value
    filled = filled_before_and_after(columns, ruler)
    assert filled and all(place.guesses["before"] == place.guesses["after"] for one in filled for place in one.places)


def test_a_start_that_guesses_no_words_is_refused(toys, text, tmp_path):
    with pytest.raises(CheckpointError, match="no heads for masked tokens"):
        make_ruler(read_folder(toys.answering), text, tmp_path / "learned", tmp_path / "kept")
