"""Options of the commands that read text."""

import pytest

from spanwise.cli.main import main
from spanwise.cli.options.text import TextOptions
from spanwise.errors import ConfigError
from spanwise.text.corpus import CorpusOptions


def test_the_options_become_those_of_the_library_value_by_value():
    given = {"lines": "sentences", "errors": "replace", "text_field": "body", "language": "ko"}
    assert TextOptions(**given).corpus() == CorpusOptions(**given)
    assert TextOptions().corpus() == CorpusOptions()
    with pytest.raises(ConfigError, match="text_field"):
        TextOptions(text_field="").corpus()


@pytest.mark.parametrize("command", ["prepare", "learn-tokenizer", "pretrain"])
def test_every_command_that_reads_text_has_them(command, capsys):
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert all(option in told for option in ("--lines", "--errors", "--text-field", "--language"))
