"""Names in doc.ents."""

import pytest
from tests.serving.spacy.test_component import TEXT, blank


@pytest.mark.slow
def test_names_have_labels_and_scores():
    nlp = blank()
    nlp.add_pipe("spanwise_ner")
    ents = nlp(TEXT).ents
    assert "London" in [ent.text for ent in ents]
    assert all(ent.label_ and 0 < ent._.score <= 1 for ent in ents)


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", (True, False))
def test_names_that_are_there_stay_unless_they_are_overwritten(overwrite):
    nlp = blank()
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "MINE", "pattern": "London"}])
    nlp.add_pipe("spanwise_ner", config={"overwrite": overwrite})
    labels = {ent.text: ent.label_ for ent in nlp(TEXT).ents}
    assert (labels["London"] == "MINE") is not overwrite and len(labels) > 1


@pytest.mark.slow
def test_a_korean_pipeline_needs_no_morphological_analyser():
    nlp = blank("ko")
    nlp.add_pipe("spanwise_ner")
    doc = nlp("한강은 서울을 지난다. Ada Lovelace met Babbage.")
    assert all(doc.text[ent.start_char : ent.end_char] == ent.text for ent in doc.ents)
