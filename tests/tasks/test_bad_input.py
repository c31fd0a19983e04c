"""Files as they come: other line ends, marks and cuts; whatever is wrong with one, its name is told, for every task."""

import copy
import gzip
import json
import random

import pytest
from tests.mutations import paths_in
from tests.tasks.cases import CASES, FORMS

from spanwise.errors import DataError
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.registry import task_recipe

FILES = [(name, file) for name, files in FORMS.items() for file in files]
WRONG_VALUES = (None, 3, True, 1.5, "", "x", [], {}, ["a"], {"a": 1})


def read(name, path, purpose="train", errors="strict"):
    return read_data(name, task_recipe(name, CASES[name].recipe).task, path, purpose=purpose, errors=errors)


def read_or_refused(name, path):
    """Reads a file for every purpose; the one error that may come is a DataError that names the file."""
    for purpose in ("train", "predict"):
        for errors in ("strict", "repair"):
            try:
                read(name, path, purpose, errors)
            except DataError as error:
                assert path.name in str(error)


def content_of(data):
    """The examples, without where they stood."""
    return {key: value for key, value in vars(data).items() if key not in ("source", "places")}


@pytest.mark.parametrize(("name", "file"), FILES)
def test_line_ends_marks_and_a_missing_last_line_feed_change_nothing(tmp_path, name, file):
    path, content = tmp_path / file, FORMS[name][file]
    path.write_text(content, encoding="utf-8")
    plain = content_of(read(name, path, "score"))
    for other in (content.replace("\n", "\r\n"), content.rstrip("\n"), content + "\n\n"):
        for mark in ("", "\ufeff"):
            path.write_text(mark + other, encoding="utf-8", newline="")
            found = content_of(read(name, path, "score"))
            assert repr(found) == repr(plain) or found == plain
    packed = tmp_path / f"{file}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert repr(content_of(read(name, packed, "score"))).replace(".gz", "") == repr(plain)
    packed.write_bytes(gzip.compress(content.encode())[:-9])
    with pytest.raises(DataError, match=r"\.gz.*(damaged|too early)"):
        read(name, packed, "score")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "content",
    [b"", b" \n\n", b"\xef\xbb\xbf", b"\x00\x01", b"\xff\xfe", b"{", b"[]", b"{}", b"null", b"[null]", b"[[]]"],
)
def test_a_file_that_holds_nothing_is_refused_by_name(tmp_path, name, content):
    for file in FORMS[name]:
        path = tmp_path / file
        path.write_bytes(content)
        with pytest.raises(DataError, match=path.name.replace(".", r"\.")):
            read(name, path)
    with pytest.raises(DataError, match="none"):
        read(name, tmp_path / "none")


@pytest.mark.parametrize(("name", "file"), FILES)
def test_whatever_signs_are_lost_or_changed_the_file_is_read_or_named(tmp_path, name, file):
    path, content = tmp_path / file, FORMS[name][file]
    chance = random.Random(file)
    for _ in range(40):
        signs = list(content)
        for _ in range(chance.choice((1, 1, 3))):
            place = chance.randrange(len(signs))
            signs[place] = chance.choice(["", "", *'"\t\n,{}[]0-O \r:|'])
        path.write_text("".join(signs), encoding="utf-8", newline="")
        read_or_refused(name, path)


@pytest.mark.parametrize(("name", "file"), [pair for pair in FILES if pair[1].endswith(("json", "jsonl"))])
def test_whatever_stands_in_the_place_of_a_value_the_file_is_read_or_named(tmp_path, name, file):
    path = tmp_path / file
    rows = [FORMS[name][file]] if file.endswith("json") else FORMS[name][file].splitlines()
    whole = json.loads(rows[-1])
    chance = random.Random(file)
    for place in list(paths_in(whole))[1:]:
        changed = copy.deepcopy(whole)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        if chance.random() < 0.3:
            del inner[place[-1]]
        else:
            inner[place[-1]] = chance.choice(WRONG_VALUES)
        path.write_text("\n".join([*rows[:-1], json.dumps(changed)]))
        read_or_refused(name, path)


def test_the_laws_of_files_hold_for_more_than_one_form_of_each_task():
    assert set(FORMS) == set(CASES) and all(len(files) > 1 for files in FORMS.values())
