"""Options of the commands that read text."""

import pytest

from spanwise.cli.main import main
from spanwise.cli.options.text import TextOptions, watched
from spanwise.errors import ConfigError
from spanwise.runtime.progress import Gauge
from spanwise.text.corpus import CorpusOptions, documents_of


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


class Counted:
    """A gauge that keeps what it is told."""

    expected = done = 0.0

    def expect(self, amount):
        self.expected += amount

    def over(self, items, size):
        for item in items:
            yield item
            self.done += size(item)


def test_documents_are_counted_in_megabytes_with_an_end_where_the_files_tell_it(tmp_path):
    (tmp_path / "a.txt").write_text("The old river.\nA bridge.\n\nÉté.\n", encoding="utf-8")
    for name, known in (("a.txt", True), ("b.jsonl", False)):
        (tmp_path / "b.jsonl").write_text('{"text": "The old river."}\n')
        gauge, paths = Counted(), [tmp_path / name]
        given = list(watched(documents_of(paths), paths, gauge))
        assert given == list(documents_of(paths))
        size = (tmp_path / "a.txt").stat().st_size / 1e6
        assert gauge.expected == (size if known else 0.0)
        assert gauge.done == pytest.approx(size if known else 15e-6, abs=2e-6)


def test_every_long_command_that_reads_text_tells_the_gauge(tiny_store, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(Gauge, "add", lambda gauge, amount: told.append(amount))
    text = tmp_path / "text.txt"
    text.write_text("Ada met Bob in Denver.\nBob saw Denver.\nAda left Denver for Boston.\n\nIt rained.\n")
    (tmp_path / "tokenizer").mkdir()
    tiny_store.tokenizer().save(tmp_path / "tokenizer")
    for command, options, times in (
        ("prepare", ["--tokenizer", str(tmp_path / "tokenizer")], 1),
        ("learn-tokenizer", ["--vocab-size", "100"], 2),  # learned from, then [UNK] is counted
        ("make-questions", [], 1),
    ):
        told.clear()
        assert main([command, str(text), "--out", str(tmp_path / command), *options]) == 0
        assert sum(told) == pytest.approx(times * text.stat().st_size / 1e6, abs=5e-6)
