"""A probe's files are found below the folder of probe data, or told with how to get them."""

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.studies.probes import PROBES, Chunks, Probe, find_files, find_probe


def test_the_first_pattern_that_fits_is_taken_packed_or_not(tmp_path):
    (tmp_path / "conll2000").mkdir()
    for name in ("train.txt.xz", "test.txt"):
        (tmp_path / "conll2000" / name).write_text("")
    assert {key: path.name for key, path in find_files(Chunks(), tmp_path).items()} == {
        "train": "train.txt.xz",
        "dev": "test.txt",
    }


def test_a_missing_file_is_named_with_how_to_get_it(tmp_path):
    with pytest.raises(DataError, match=r"probe 'chunks' needs tagging/conll2000/train\* or .* below .*shared task"):
        find_files(Chunks(), tmp_path)
    with pytest.raises(DataError, match=r"no folder was given \(--probe-data DIR\)"):
        find_files(Chunks(), None)


def test_every_probe_answers_the_protocol_and_its_figures_have_names_of_their_own():
    for name, part in PROBES.items():
        probe = part()
        assert isinstance(probe, Probe) and probe.name == name and probe.what
        keys = [figure.key for figure in probe.figures]
        assert len(set(keys)) == len(keys) > 0 and any(figure.main for figure in probe.figures)
        for file in probe.files.values():
            assert (file.patterns and file.how.endswith(".") and "GitHub" in file.how) or "shared task" in file.how


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no probe 'chunk'.*chunks"):
        find_probe("chunk")
