"""Which tasks are asked, and that a document that can't be read spoils no other."""

import pytest
from tests.tasks.tuned import tuned_folder

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.extraction import models
from spanwise.extraction.documents import Document
from spanwise.extraction.models import Asked, Batch, Reader, Relations, chosen, read_each, tasks_of
from spanwise.tasks.classification.task import Classification


def test_a_folder_of_several_tasks_stands_for_all_of_them():
    assert tasks_of("spanwise-mini") == ["qa", "tagging", "coref"]
    pairs, left_out = chosen(["spanwise-mini"], None, has_questions=True)
    assert [task for _, task in pairs] == ["qa", "tagging", "coref"] and not left_out
    pairs, left_out = chosen(["spanwise-mini"], None, has_questions=False)
    assert [task for _, task in pairs] == ["tagging", "coref"] and "no questions" in left_out[0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((["spanwise-mini"] * 2, None, False), "named twice"),
        ((["spanwise-mini"], ["relation"], False), "no model has the task 'relation'"),
        ((["spanwise-mini"], ["tagging"], True), "no model that answers questions"),
        ((["spanwise-mini"], ["multiple-choice"], False), "no documents are read"),
        ((["spanwise-mini"], ["qa"], False), "nothing is left"),
    ],
)
def test_what_does_not_go_together_is_refused(asked, words):
    with pytest.raises(ConfigError, match=words):
        chosen(*asked)


def test_an_encoder_without_a_task_is_refused(monkeypatch):
    checkpoint = models.read_folder("spanwise-mini")
    monkeypatch.setattr(type(checkpoint), "tasks", ())
    with pytest.raises(CheckpointError, match="has no task"):
        tasks_of("spanwise-mini")


class Fussy(Reader):
    """Refuses texts with "bad"."""

    task = "tagging"

    def __init__(self):
        self.num_calls = 0

    def read(self, batch):
        self.num_calls += 1
        if any("bad" in text for text in batch.texts):
            raise DataError("a bad text")
        batch.names = [[{"kind": text, "score": 1.0}] for text in batch.texts]
        return batch.names


def test_a_document_that_cannot_be_read_is_named_and_the_others_keep_their_rows():
    reader = Fussy()
    assert read_each(reader, Batch([Document("1", "a"), Document("2", "b")]))[1] == {} and reader.num_calls == 1
    batch = Batch([Document(name, name) for name in ("a", "bad", "c")])
    found, wrong = read_each(reader, batch)
    assert [[row["kind"] for row in rows] for rows in found] == [["a"], [], ["c"]] and wrong == {1: "a bad text"}
    assert [len(names) for names in batch.names] == [1, 0, 1]


def test_a_classifier_of_pairs_reads_no_documents_and_that_is_told_at_the_start(tmp_path):
    single = Classification(kind="single_label", labels=("no", "yes"), is_pair=False)
    pairs = Classification(kind="single_label", labels=("no", "yes"), is_pair=True)
    topics, nli = (
        str(tuned_folder("spanwise-mini", tmp_path / name, "classification", task=task))
        for name, task in (("topics", single), ("nli", pairs))
    )
    found, left_out = chosen(["spanwise-mini", nli], None, has_questions=False)
    assert [task for _, task in found] == ["tagging", "coref"] and f"{nli}: the task 'classification'" in left_out[1]
    with pytest.raises(ConfigError, match=r"it reads pairs of texts\. Leave 'classification' out"):
        chosen(["spanwise-mini", nli], ["tagging", "classification"], has_questions=False)
    found, left_out = chosen([nli, topics], ["classification"], has_questions=False)
    assert found == [(topics, "classification")] and "pairs of texts" in left_out[0]


def test_what_two_taggers_found_alike_is_asked_once_and_a_relation_stands_once(monkeypatch):
    asked_items = []

    def pipe(items):
        asked_items.extend(items)
        return [{"label": "knows", "score": 0.1 * (1 + n)} for n in range(len(items))]

    reader = Relations.__new__(Relations)
    reader.asked, reader.num_unread, reader._pipe = Asked(model="m", task="relation"), 0, pipe
    text = "Ada met Bob."
    names = [
        {"kind": kind, "start": start, "end": start + 3, "text": text[start : start + 3], "score": 1.0}
        for kind, start in (("PER", 0), ("PER", 8), ("PER", 0), ("PERSON", 8))
    ]
    (rows,) = reader.read(Batch([Document("1", text)], [names]))
    places = [(item["subject"]["start"], item["object"]["start"]) for item in asked_items]
    assert places == [(0, 8), (0, 8), (8, 0), (8, 0)]
    assert [(row["text"], row["object_text"], row["score"]) for row in rows] == [
        ("Ada", "Bob", pytest.approx(0.2)),
        ("Bob", "Ada", pytest.approx(0.4)),
    ]


def test_relations_are_asked_of_names_in_one_sentence_in_both_directions(monkeypatch):
    asked_items = []

    def pipe(items):
        asked_items.extend(items)
        return [{"label": "knows" if n == 0 else "no_relation", "score": 0.5} for n in range(len(items))]

    reader = Relations.__new__(Relations)
    reader.asked, reader.num_unread, reader._pipe = Asked(model="m", task="relation"), 0, pipe
    text = "It rained. Ada met Bob. Cy left."
    names = [
        {"kind": "PER", "start": start, "end": start + len(name), "text": name, "score": 1.0}
        for name in ("Ada", "Bob", "Cy")
        for start in [text.index(name)]
    ]
    ((row,),) = reader.read(Batch([Document("1", text)], [names]))
    assert [item["text"] for item in asked_items] == ["Ada met Bob."] * 2
    assert asked_items[0]["subject"] == {"start": 0, "end": 3, "type": "PER"}
    assert (row["text"], row["object_text"], row["kind"]) == ("Ada", "Bob", "knows")
    assert text[row["object_start"] : row["object_end"]] == "Bob"
