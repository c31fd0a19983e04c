"""Several training files as one: joined, recorded, resumed, and kept apart from a test set."""

import io
import json
import re

import pytest
from tests.tasks.cases import CASES, FORMS, NAMES, QUESTIONS, squad
from tests.tasks.conftest import RIVER, SHORT, TEA

from spanwise.errors import ConfigError, DataError
from spanwise.interop.convert import convert
from spanwise.interop.record import read_record
from spanwise.runtime.files import sha256_of
from spanwise.runtime.progress import RunLog
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune
from spanwise.tasks.training_files import TrainingFiles
from spanwise.weights.learned_from import LEARNED_FROM, NOT_STATED, Origin

ONE_TEXT = '{"text": "a", "label": "x"}\n'
STEP = ["training.max_steps=1", "training.precision=fp32"]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def num_examples(data):
    return len(getattr(data, "documents", getattr(data, "questions", data)))


@pytest.fixture
def halves(tmp_path):
    """The same questions as one file, and as two files that number their questions alike."""
    whole = write(tmp_path / "whole.json", squad(*QUESTIONS))
    parts = [
        write(tmp_path / f"{name}.json", squad(*rows)) for name, rows in (("a", QUESTIONS[:1]), ("b", QUESTIONS[1:]))
    ]
    return whole, parts


@pytest.mark.parametrize("name", NAMES)
def test_every_task_of_the_package_learns_from_two_files(name, pretrained_folder, tmp_path):
    case, said = CASES[name], []
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths.append(write(tmp_path / folder / case.file, case.content))
    task = task_recipe(name, case.recipe).task
    alone = read_data(name, task, paths[0], purpose="train")
    both, learned = TrainingFiles.given(paths).read(name, task, "strict", said.append)
    assert num_examples(both) == 2 * num_examples(alone) and said == []
    assert [(one.file, one.what, one.count) for one in learned] == [(case.file, name, num_examples(alone))] * 2
    changes = [*STEP, *case.changes]
    run = finetune(
        name, model=pretrained_folder, train=paths, out=tmp_path / "run", recipe=case.recipe, overrides=changes
    )
    record = json.loads((run.final / "spanwise.json").read_text())
    assert record["finetuned"]["train"] == list(map(str, paths))


def test_two_files_teach_what_one_file_of_both_teaches_bit_for_bit(halves, pretrained_folder, tmp_path):
    whole, parts = halves
    runs = [
        finetune("qa", model=pretrained_folder, train=train, out=tmp_path / name, overrides=SHORT)
        for name, train in (("whole", whole), ("parts", parts))
    ]
    weights = [(run.final / "model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1]


def test_equal_ids_of_two_files_stay_two_questions_on_their_own_paragraphs(halves):
    _, parts = halves
    data, _ = TrainingFiles.given(parts).read("qa", task_recipe("qa", None).task, "strict", print)
    assert [question.id for question in data.questions] == ["q0", "q0 (file 2)", "q1"]
    for question, (text, asked, told) in zip(data.questions, QUESTIONS, strict=True):
        assert (data.context_of(question), question.text, question.answers[0].text) == (text, asked, told)
    assert [data.source_of(question) for question in data.questions] == [str(parts[0]), *[str(parts[1])] * 2]


def test_files_are_recorded_by_name_and_a_changed_list_is_refused_by_name(halves, pretrained_folder, tmp_path):
    _, parts = halves
    asked = {"model": pretrained_folder, "out": tmp_path / "run", "overrides": STEP}
    run = finetune("qa", **asked, train=parts)
    hashes = {str(n): f"{path.name} {sha256_of(path)}" for n, path in enumerate(parts, start=1)}
    assert json.loads((tmp_path / "run" / "recipe.json").read_text())["train"] == hashes
    assert json.loads((run.final / "spanwise.json").read_text())["finetuned"]["train"] == list(map(str, parts))
    finetune("qa", **asked, train=parts, resume=True)  # the same files: the run is whole
    with pytest.raises(ConfigError, match=r"train\.1: a\.json .* -> b\.json"):
        finetune("qa", **asked, train=parts[::-1], resume=True)
    with pytest.raises(ConfigError, match=r"train\.2: b\.json"):
        finetune("qa", **asked, train=parts[:1], resume=True)
    write(parts[1], squad(QUESTIONS[2]))
    with pytest.raises(ConfigError, match=r"train\.2: b\.json"):
        finetune("qa", **asked, train=parts, resume=True)


def test_one_file_in_a_list_has_the_record_of_one_file(halves):
    _, parts = halves
    listed, alone = TrainingFiles.given(parts[:1]), TrainingFiles.given(str(parts[0]))
    assert listed.record() == alone.record() == {"train": str(parts[0])}
    assert listed.identity() == alone.identity() == {"train": sha256_of(parts[0])}


def test_the_damaged_one_of_several_files_is_named(halves, tmp_path):
    _, parts = halves
    broken = write(tmp_path / "broken.json", '{"data": [')
    with pytest.raises(DataError, match=r"broken\.json"):
        TrainingFiles.given([*parts, broken]).read("qa", task_recipe("qa", None).task, "strict", print)


@pytest.mark.parametrize(
    ("given", "words"), [((), "no training file"), (("a.json", "b.json", "a.json"), "a.json is named twice")]
)
def test_lists_that_are_no_training_set_are_refused(given, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        TrainingFiles.given(given)


@pytest.mark.parametrize(
    ("name", "first", "second", "words"),
    [
        ("tagging", FORMS["tagging"]["words.jsonl"], '{"tokens": ["a"], "tags": ["NOUN"]}\n', "classes of words"),
        ("classification", ONE_TEXT, '{"text": "a", "label": 0.5}\n', "regression"),
        ("classification", ONE_TEXT, '{"sentence1": "a", "sentence2": "b", "label": "x"}\n', "pairs"),
    ],
)
def test_files_of_two_kinds_are_not_joined_and_both_are_named(name, first, second, words, tmp_path):
    paths = [write(tmp_path / "a.jsonl", first), write(tmp_path / "b.jsonl", second)]
    with pytest.raises(DataError, match=rf"a\.jsonl.*b\.jsonl.*{words}"):
        TrainingFiles.given(paths).read(name, task_recipe(name, None).task, "strict", print)


def test_a_task_that_cannot_join_files_says_so(tmp_path):
    paths = [write(tmp_path / f"{name}.jsonl", '{"text": "Ada", "names": 1}\n') for name in "ab"]
    name = "examples/my_task.py:name_count"
    with pytest.raises(ConfigError, match="NameCount learns from one training file, got 2"):
        TrainingFiles.given(paths).read(name, task_recipe(name, None).task, "strict", print)


def test_training_paragraphs_of_the_test_set_are_left_out_counted_and_recorded(
    squad_files, pretrained_folder, tmp_path
):
    test_set = write(tmp_path / "test.json", squad((TEA.upper() + " More words here.", "MORE?", "More words")))
    other = write(tmp_path / "other.json", squad(*QUESTIONS))
    asked = {"model": pretrained_folder, "train": [squad_files["1.1"], other], "out": tmp_path / "run"}
    told = io.StringIO()
    log = RunLog(tmp_path / "run", stream=told)
    run = finetune("qa", **asked, not_from=test_set, overrides=STEP, log=log)
    said = told.getvalue()
    assert f"{squad_files['1.1']}: 1 of 2 paragraphs and 1 of 4 questions are left out" in said
    assert f"{other}: 1 of 3 paragraphs and 1 of 3 questions are left out" in said
    assert "5 questions on 3 paragraphs" in said
    assert json.loads((run.final / "spanwise.json").read_text())["finetuned"]["not_from"] == [str(test_set)]
    with pytest.raises(ConfigError, match=r"not_from\.1: test\.json"):
        finetune("qa", **asked, overrides=STEP, resume=True)


def test_a_training_set_that_is_the_test_set_leaves_nothing(squad_files, tmp_path):
    test_set = write(tmp_path / "test.json", squad((RIVER, "Who?", "Han"), (TEA, "Which?", "Green")))
    with pytest.raises(DataError, match=r"no training question is left.*test\.json"):
        TrainingFiles.given(squad_files["1.1"], test_set).read("qa", task_recipe("qa", None).task, "strict", print)


def test_leaving_out_is_for_questions(tmp_path):
    path = write(tmp_path / "t.tsv", CASES["classification"].content)
    with pytest.raises(ConfigError, match="--not-from leaves out paragraphs of question files"):
        TrainingFiles.given(path, path).read(
            "classification", task_recipe("classification", None).task, "strict", print
        )


def test_weights_keep_the_list_of_what_they_learned_from_and_new_files_are_added(
    squad_files, pretrained_folder, halves, tmp_path
):
    _, parts = halves
    origins = [Origin(licence="CC BY 4.0", source="made up"), Origin(file="b of ours", licence="MIT")]
    asked = {"overrides": STEP, "out": tmp_path / "one"}
    run = finetune("qa", model=pretrained_folder, train=parts, origins=origins, **asked)
    before = {"what": "weights", "source": NOT_STATED, "licence": NOT_STATED, "count": None, "unit": ""}
    learned = [
        {**before, "file": "model"},
        {**before, "file": "a.json", "what": "qa", "source": "made up", "licence": "CC BY 4.0", "count": 1},
        {**before, "file": "b of ours", "what": "qa", "licence": "MIT", "count": 2},
    ]
    for entry in learned[1:]:
        entry["unit"] = "questions"
    assert read_record(run.final)[LEARNED_FROM] == learned
    card = (run.final / "README.md").read_text()
    assert "- a.json (qa, 1 questions). Licence: CC BY 4.0. Source: made up." in card
    again = finetune("qa", model=run.final, train=squad_files["1.1"], overrides=STEP, out=tmp_path / "two")
    added = {**learned[1], "file": "han-1.1.json", "source": NOT_STATED, "licence": NOT_STATED, "count": 4}
    assert read_record(again.final)[LEARNED_FROM] == [*learned, added]
    convert(again.final, tmp_path / "converted")
    assert read_record(tmp_path / "converted")[LEARNED_FROM] == [*learned, added]
    random = finetune(
        "qa", model=run.final, train=squad_files["1.1"], overrides=STEP, out=tmp_path / "random", reset_weights=True
    )
    assert read_record(random.final)[LEARNED_FROM] == [added]  # random weights learned from nothing before


def test_old_data_of_replay_stand_once_in_the_list_with_their_licence(pretrained_folder, tmp_path):
    rows = {"old": "The Han\ta\nkm km\tb\n", "new": "In Seoul\ta\nand and\tb\n", "other": "In\ta\nand\tb\n"}
    for name, content in rows.items():
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{content}")
    changes = ["training.max_steps=1", "training.precision=fp32", "training.threads=1", "batch_size=2"]
    first = finetune(
        "classification", model=pretrained_folder, train=tmp_path / "old.tsv", out=tmp_path / "first",
        overrides=changes, origins=[Origin(licence="CC BY 4.0", source="here")],
    )  # fmt: skip
    run = finetune(
        "classification", model=first.final, train=tmp_path / "new.tsv", out=tmp_path / "further", overrides=changes,
        replay=[tmp_path / "old.tsv", tmp_path / "other.tsv"],
    )  # fmt: skip
    learned = json.loads((run.final / "spanwise.json").read_text())[LEARNED_FROM]
    assert [(one["file"], one["licence"]) for one in learned[1:]] == [
        ("old.tsv", "CC BY 4.0"), ("new.tsv", NOT_STATED), ("other.tsv", NOT_STATED),
    ]  # fmt: skip


def test_origins_of_another_number_than_files_are_refused():
    with pytest.raises(ConfigError, match="3 licences or sources came for 2 training files"):
        TrainingFiles.given(["a", "b"], origins=[Origin()] * 3)
