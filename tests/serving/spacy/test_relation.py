"""Relations between the names of a document."""

import json

import pytest
from tests.serving.spacy.test_component import blank

import spanwise
from spanwise.errors import ConfigError
from spanwise.tasks.relation.task import NEGATIVES
from spanwise.tasks.run import finetune

TEXT = "The Han flows through Seoul"


@pytest.fixture(scope="module")
def related(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relations")
    pair = {"text": TEXT, "subject": [4, 7], "object": [22, 27]}
    rows = [{**pair, "label": "in"}, {**pair, "label": "near", "subject": [22, 27], "object": [4, 7]}]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    changes = ["training.max_steps=2", "training.precision=fp32", "task.markers=punct", "task.max_length=32"]
    run = finetune(
        "relation", model="spanwise-mini", train=folder / "train.jsonl", out=folder / "run", overrides=changes
    )
    return str(run.final)


@pytest.mark.slow
def test_each_ordered_pair_of_names_has_a_relation_that_is_saved_with_the_document(related):
    from spacy.tokens import Doc

    nlp = blank()
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "Han"}, {"label": "Y", "pattern": "Seoul"}])
    nlp.add_pipe("spanwise_relation", config={"model": related, "precision": "fp32"})
    doc = nlp(TEXT)
    assert [(one["subject"], one["object"]) for one in doc._.relations] == [([1, 2], [4, 5]), ([4, 5], [1, 2])]
    asked = {
        "text": TEXT,
        "subject": {"start": 4, "end": 7, "type": "X"},
        "object": {"start": 22, "end": 27, "type": "Y"},
    }
    expected = spanwise.pipeline("relation-extraction", model=related, precision="fp32")(asked)
    first = doc._.relations[0]
    assert (first["label"], first["score"]) == (expected["label"], pytest.approx(expected["score"], abs=1e-5))
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.relations == doc._.relations


@pytest.mark.slow
def test_names_far_apart_and_labels_that_say_none_are_left_out(related):
    for config in ({"max_distance": 1}, {"left_out": ["in", "near"]}):
        nlp = blank()
        nlp.add_pipe("entity_ruler").add_patterns(
            [{"label": "X", "pattern": "Han"}, {"label": "Y", "pattern": "Seoul"}]
        )
        nlp.add_pipe("spanwise_relation", config={"model": related, **config})
        assert nlp(TEXT)._.relations == []


@pytest.mark.slow
def test_labels_that_say_none_are_those_of_the_task(related):
    component = blank().add_pipe("spanwise_relation", config={"model": related})
    assert set(component.left_out) == set(NEGATIVES)


@pytest.mark.slow
def test_a_model_must_be_named():
    with pytest.raises(ConfigError, match="spanwise_relation needs a model"):
        blank().add_pipe("spanwise_relation")
