"""Options that say where data comes from."""

import pytest

from spanwise.cli.main import main
from spanwise.cli.options.origin import OriginOptions
from spanwise.errors import ConfigError
from spanwise.weights.learned_from import Origin


@pytest.mark.parametrize(
    ("licences", "sources", "origins"),
    [
        (None, None, []),
        (["MIT"], None, [Origin(licence="MIT")]),
        (None, ["a", "b"], [Origin(source="a"), Origin(source="b")]),
        (["MIT"], ["a", "b"], [Origin(licence="MIT", source="a"), Origin(licence="MIT", source="b")]),
        (["MIT", "GPL"], ["a"], [Origin(licence="MIT", source="a"), Origin(licence="GPL", source="a")]),
    ],
)
def test_one_is_for_all_files_and_several_are_for_each(licences, sources, origins):
    assert OriginOptions(licence=licences, source=sources).origins() == origins


def test_lists_that_do_not_match_are_refused():
    with pytest.raises(ConfigError, match="3 licences and 2 sources do not match"):
        OriginOptions(licence=["a", "b", "c"], source=["a", "b"]).origins()


@pytest.mark.parametrize("command", ["pretrain", "adapt", "finetune"])
def test_every_command_that_trains_has_them(command, capsys):
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert "--licence" in told and "--source" in told
