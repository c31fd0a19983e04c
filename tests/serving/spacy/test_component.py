"""spaCy components as a whole: found by entry points, saved with their pipeline, in batches."""

from importlib.metadata import entry_points
from shutil import copytree, rmtree

import pytest

from spanwise.interop.sources import find_folder

TEXT = "Ada Lovelace met Charles Babbage in London. She wrote the first program, and he liked it."
FACTORIES = {"spanwise_coref": "coref", "spanwise_ner": "ner", "spanwise_relation": "relation"}


def blank(language="en"):
    spacy = pytest.importorskip("spacy")
    if language == "ko":
        return spacy.blank("ko", config={"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}})
    return spacy.blank(language)


def test_the_package_names_its_factories_for_spacy():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    named = project["entry-points"]["spacy_factories"]
    assert named == {n: f"spanwise.serving.spacy.{m}:make_{m}" for n, m in FACTORIES.items()}


@pytest.mark.slow
def test_spacy_finds_the_components_by_itself():
    assert {point.name for point in entry_points(group="spacy_factories")} >= FACTORIES.keys()
    assert blank().add_pipe("spanwise_ner").pipeline_name == "token-classification"


@pytest.mark.slow
@pytest.mark.parametrize("way", ("disk", "bytes"))
@pytest.mark.parametrize("is_shipped", (True, False))
def test_a_pipeline_that_was_saved_finds_the_same_without_the_folder_it_came_from(way, is_shipped, tmp_path):
    import spacy

    model = "spanwise-mini"
    if not is_shipped:
        model = str(copytree(find_folder(model), tmp_path / "own"))
    nlp = blank()
    nlp.add_pipe("spanwise_ner", config={"model": model})
    nlp.add_pipe("spanwise_coref", config={"model": model})
    before = nlp(TEXT)
    if way == "disk":
        nlp.to_disk(tmp_path / "saved")
    else:
        data = nlp.to_bytes()
    if not is_shipped:
        rmtree(model)
    if way == "disk":
        again = spacy.load(tmp_path / "saved")
        assert (tmp_path / "saved" / "spanwise_ner" / "model").exists() is not is_shipped
    else:
        again = blank()
        again.add_pipe("spanwise_ner", config={"model": "nowhere"})
        again.add_pipe("spanwise_coref", config={"model": "nowhere"})
        again.from_bytes(data)
    after = again(TEXT)
    assert before.ents and [str(e) for e in after.ents] == [str(e) for e in before.ents]
    assert before.spans.keys() == after.spans.keys()


@pytest.mark.slow
def test_a_batch_finds_what_single_documents_find_and_leaves_empty_ones_alone():
    nlp = blank()
    nlp.add_pipe("spanwise_ner")
    nlp.add_pipe("spanwise_coref")
    texts = [TEXT, "", "   ", "It rained in Paris."]
    for doc, text in zip(nlp.pipe(texts, batch_size=3), texts, strict=True):
        one = nlp(text)
        assert (doc.text == text and doc.ents == one.ents) or [str(e) for e in doc.ents] == [str(e) for e in one.ents]
        assert list(doc.spans) == list(one.spans)
