"""Our steps of a datatrove pipeline: text as our readers have it, parts that are written once."""

import pytest

from spanwise.data.prepare import prepare
from spanwise.errors import ConfigError
from spanwise.runtime.files import read_manifest
from spanwise.text import corpus
from spanwise.text.corpus import CorpusOptions
from spanwise.text.learn import learn_tokenizer

TEXT = "Denver is the capital. It is so.\n한국어 문장은 짧다.\n\nIs the Mint there? No, it is not!\n\nDenver.\n"


@pytest.fixture
def made(tmp_path):
    """A folder with text, a tokenizer and the store that one call makes of them."""
    (tmp_path / "a.txt").write_text(TEXT * 3, encoding="utf-8")
    learn_tokenizer(tmp_path / "a.txt", vocab_size=120).save(tmp_path / "tokenizer")
    return tmp_path


def run(made, *filters, files=("a.txt",)):
    from spanwise.integrations.datatrove.steps import ReadTexts, WriteStorePart

    options = CorpusOptions()
    data = ReadTexts([[made / name for name in files]], options)()
    for step in filters:
        data = step(data)
    WriteStorePart(made / "parts", made / "tokenizer", options)(data)
    return made / "parts" / "00000"


@pytest.mark.slow
def test_a_part_is_what_prepare_makes_of_its_text_with_a_long_document_in_pieces(made, monkeypatch):
    from spanwise.text.tokenizers import Tokenizer

    monkeypatch.setattr(corpus, "MAX_DOCUMENT_CHARACTERS", 20)
    prepare(made / "a.txt", Tokenizer.load(made / "tokenizer"), made / "store")
    assert read_manifest(run(made)) == read_manifest(made / "store")


@pytest.mark.slow
def test_a_document_whose_last_piece_a_filter_dropped_still_ends(made, monkeypatch):
    from datatrove.pipeline.filters import LambdaFilter

    from spanwise.data.token_store import TokenStore

    monkeypatch.setattr(corpus, "MAX_DOCUMENT_CHARACTERS", 20)
    store = TokenStore.open(run(made, LambdaFilter(lambda doc: "한국어" not in doc.text)))
    assert store.document_borders.tolist() == [0, 2, 4, 7, 9, 12, 14, 15]


@pytest.mark.slow
def test_a_part_that_stands_is_not_read_again(made):
    from spanwise.integrations.datatrove.steps import WriteStorePart

    part = run(made)
    before = read_manifest(part)

    def unread():
        raise AssertionError("the text was read again")
        yield

    WriteStorePart(part.parent, made / "tokenizer", CorpusOptions())(unread())
    assert read_manifest(part) == before


@pytest.mark.slow
def test_text_that_is_dropped_whole_is_a_part_without_files(made):
    from datatrove.pipeline.filters import LambdaFilter

    assert read_manifest(run(made, LambdaFilter(lambda doc: False))) == {}


@pytest.mark.slow
def test_a_number_of_tasks_that_is_not_that_of_the_parts_is_refused(made):
    from spanwise.integrations.datatrove.steps import ReadTexts

    with pytest.raises(ConfigError, match="cut into 1 parts"):
        next(ReadTexts([[made / "a.txt"]], CorpusOptions())(None, 0, 2))
