"""What is measured: spans of words by three models of one shape, where the start has the heads for it."""

import pytest

from spanwise.data.prepare import prepare
from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder
from spanwise.quickstart import learning
from spanwise.quickstart.adapting.measured import filled_before_and_after, make_ruler, three_columns
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
        assert measure.against("init").value == pytest.approx(0)
    filled = filled_before_and_after(columns, ruler)
    assert filled and all(place.guesses["before"] == place.guesses["after"] for one in filled for place in one.places)


def test_a_start_that_guesses_no_words_is_refused(toys, text, tmp_path):
    with pytest.raises(CheckpointError, match="no heads for masked tokens"):
        make_ruler(read_folder(toys.answering), text, tmp_path / "learned", tmp_path / "kept")
