"""The list of what weights learned from."""

import pytest

from spanwise.errors import ConfigError
from spanwise.weights.learned_from import (
    LEARNED_FROM,
    NOT_STATED,
    Learned,
    Origin,
    as_record,
    learned_by,
    learned_lines,
    origins_of,
)

TEXT = Learned(file="wiki.txt", what="text", source="Wikipedia", licence="CC BY-SA 3.0", count=1200, unit="characters")


def test_a_list_is_read_back_as_it_was_written_and_shown():
    record = {LEARNED_FROM: as_record([TEXT, Learned(file="a.json", what="qa"), TEXT])}
    assert learned_by(record, "any") == [TEXT, Learned(file="a.json", what="qa")]  # each once, the earliest first
    assert learned_lines(record) == [
        "- wiki.txt (text, 1,200 characters). Licence: CC BY-SA 3.0. Source: Wikipedia.",
        "- a.json (qa). Licence: not stated. Source: not stated.",
    ]


def test_keys_of_a_later_version_are_passed_over():
    record = {LEARNED_FROM: [{**entry, "colour": "blue"} for entry in as_record([TEXT])]}
    assert learned_by(record, "any") == [TEXT] and len(learned_lines(record)) == 1


def test_weights_without_a_list_are_an_entry_of_their_own(tmp_path):
    (tmp_path / "theirs").mkdir()
    assert learned_by({}, str(tmp_path / "theirs")) == [Learned(file="theirs", what="weights", licence=NOT_STATED)]
    assert learned_by({}, "google/bert-base")[0].file == "google/bert-base"  # a hub id is a name whole
    assert learned_by({LEARNED_FROM: []}, "random") == [] == learned_lines({})


@pytest.mark.parametrize(("given", "licences"), [([], [NOT_STATED] * 2), (["a"], ["a", "a"]), (["a", "b"], ["a", "b"])])
def test_one_origin_is_for_all_files_and_several_are_for_each(given, licences):
    origins = [Origin(licence=licence) for licence in given]
    assert [origin.licence for origin in origins_of(origins, 2, "files")] == licences
    with pytest.raises(ConfigError, match="3 licences or sources came for 2 files"):
        origins_of([Origin()] * 3, 2, "files")


def test_several_files_have_one_name_without_their_folders():
    assert Origin().named(["/home/me/a.txt", "b.txt"]).file == "a.txt, b.txt"
    assert Origin().named(list("abcde")).file == "a, b, c and 2 more"
    assert Origin(file="mine", licence="MIT").named(["a"]) == Origin(file="mine", licence="MIT")
