"""Clusters in doc.spans."""

import pytest
from tests.serving.spacy.test_component import TEXT, blank

import spanwise


@pytest.mark.slow
def test_clusters_are_groups_of_spans_as_the_pipeline_finds_them():
    nlp = blank()
    nlp.add_pipe("spanwise_coref")
    doc = nlp(TEXT)
    found = spanwise.pipeline("coreference")(TEXT)
    assert found["clusters"]
    groups = [[span.text for span in doc.spans[f"coref_clusters_{n + 1}"]] for n in range(len(doc.spans))]
    assert groups == [[mention["text"] for mention in cluster] for cluster in found["clusters"]]
    assert doc._.coref_resolved == found["resolved"]


@pytest.mark.slow
def test_a_second_reading_takes_the_place_of_the_first_and_other_groups_stay():
    nlp = blank()
    component = nlp.add_pipe("spanwise_coref", config={"prefix": "same"})
    doc = nlp(TEXT)
    doc.spans["mine"], doc.spans["same_99"] = [doc[:2]], [doc[:1]]
    component(doc)
    assert "mine" in doc.spans and "same_1" in doc.spans and "same_99" not in doc.spans


@pytest.mark.slow
def test_a_text_without_a_word_is_its_own_resolved_text():
    nlp = blank()
    nlp.add_pipe("spanwise_coref")
    assert [doc._.coref_resolved for doc in nlp.pipe(["", "  \n"])] == ["", "  \n"]
