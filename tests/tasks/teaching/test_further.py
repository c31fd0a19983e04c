"""Training goes on from a head with other labels: rows stay by name, new ones are fresh, named ones go."""

import io
import json

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.progress import RunLog
from spanwise.tasks.run import finetune

FAST = ["training.max_steps=2", "training.learning_rate=1e-9", "training.precision=fp32", "training.threads=1"]
OLD = "Han B-LOC\nis O\n494 B-LEN\nkm I-LEN\n\n"
NEW = "Ada B-PER\nin O\nSeoul B-LOC\n\n"
CONLL = "#begin document ({name}); part 000\nAnn (1)\nmet -\nKim (2)\n. -\n\nShe (1)\nleft -\n. -\n\n#end document\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, text in {"old": OLD, "new": NEW, "other": "Ada B-X\nran O\n"}.items():
        (folder / f"{name}.conll").write_text(text)
    return folder


@pytest.fixture(scope="module")
def old(pretrained_folder, files, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "run"
    return finetune("tagging", model=pretrained_folder, train=files / "old.conll", out=out, overrides=FAST).final


def head(folder):
    checkpoint = read_folder(folder)
    return checkpoint.labels, checkpoint.heads["tagging"]["out.weight"].numpy()


def go_on(old, files, out, *changes, train="new", **options):
    return finetune(
        "tagging", model=old, train=files / f"{train}.conll", out=out, overrides=[*FAST, *changes], **options
    )


def test_new_labels_get_rows_behind_those_of_the_head_which_stay(old, files, tmp_path):
    before, rows = head(old)
    after, found = head(go_on(old, files, tmp_path / "run").final)
    assert before == ("O", "B-LEN", "I-LEN", "B-LOC", "I-LOC")
    assert after == (*before, "B-PER", "I-PER")
    np.testing.assert_allclose(found[: len(before)], rows, atol=1e-6)
    assert np.abs(found[len(before) :]).min(axis=1).max() > 0


def test_a_label_that_is_named_loses_its_rows_and_no_other(old, files, tmp_path):
    _, rows = head(old)
    told = io.StringIO()
    result = go_on(old, files, tmp_path / "run", 'drop_labels=["LEN"]', log=RunLog(tmp_path / "run", stream=told))
    after, found = head(result.final)
    assert after == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    np.testing.assert_allclose(found[:3], rows[[0, 3, 4]], atol=1e-6)
    assert "loses B-LEN, I-LEN" in told.getvalue()


@pytest.mark.parametrize(("name", "words"), [("PERS", "no such label"), ("LOC", "has examples of it")])
def test_a_label_that_cannot_go_is_refused_by_name(old, files, tmp_path, name, words):
    with pytest.raises(ConfigError, match=f"--drop-label {name}.*{words}"):
        go_on(old, files, tmp_path / "run", f'drop_labels=["{name}"]')


def test_a_head_that_shares_no_label_starts_anew(old, files, tmp_path):
    assert head(go_on(old, files, tmp_path / "run", train="other").final)[0] == ("O", "B-X", "I-X")
    with pytest.raises(ConfigError, match="no head of these labels"):
        go_on(old, files, tmp_path / "again", 'drop_labels=["LOC"]', train="other")
    assert head(go_on(old, files, tmp_path / "fresh", "fresh_head=true").final)[0][1] == "B-LOC"


def test_a_coreference_head_keeps_its_genres_and_gets_new_ones(pretrained_folder, tmp_path):
    for name, genre in (("a", "nw/a"), ("b", "bc/b")):
        (tmp_path / f"{name}.conll").write_text(CONLL.format(name=genre))
    small = [*FAST, "task.ffn_size=8", "training.head_learning_rate=1e-9"]
    first = finetune("coref", model=pretrained_folder, train=tmp_path / "a.conll", out=tmp_path / "1", overrides=small)
    second = finetune("coref", model=first.final, train=tmp_path / "b.conll", out=tmp_path / "2", overrides=small)
    assert second.task.row_names == ("none", "nw", "bc")
    before, after = (read_folder(result.final).heads["coref"] for result in (first, second))
    np.testing.assert_allclose(
        after["antecedents.genre.weight"][:2].numpy(), before["antecedents.genre.weight"].numpy(), atol=1e-6
    )
    name = "spans.mention.hidden.weight"
    np.testing.assert_allclose(after[name].numpy(), before[name].numpy(), atol=1e-6)


def relation(id, kind, label):
    return {
        "id": id, "token": ["Ada", "is", "in", "Seoul"], "subj_start": 0, "subj_end": 0, "obj_start": 3, "obj_end": 3,
        "subj_type": kind, "obj_type": "ORG", "relation": label,
    }  # fmt: skip


def test_markers_of_relations_keep_their_pieces_where_the_relations_are_the_same(pretrained_folder, tmp_path):
    runs = []
    for number, kinds in enumerate((["LOC", "PER"], ["PER", "PER"], ["PER", "DATE"])):
        rows = [relation(str(n), kind, name) for n, (kind, name) in enumerate(zip(kinds, "ab", strict=True))]
        (tmp_path / f"{number}.json").write_text(json.dumps(rows))
        model = runs[-1].final if runs else pretrained_folder
        data, out = tmp_path / f"{number}.json", tmp_path / f"run{number}"
        runs.append(finetune("relation", model=model, train=data, out=out, overrides=FAST))
    first, same, more = (run.task for run in runs)
    assert first.labels == same.labels == more.labels and "SUBJ=LOC" in first.marker_names
    assert same.marker_names == first.marker_names
    assert more.marker_names == (*first.marker_names, "SUBJ=DATE")
