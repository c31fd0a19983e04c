"""`spanwise report`."""

import json

from spanwise.cli.main import main


def test_a_page_is_written_into_the_folder_of_the_run(run, capsys):
    assert main(["report", str(run)]) == 0
    assert "report.html" in capsys.readouterr().out
    assert "<html" in (run / "report.html").read_text("utf-8")


def test_several_runs_share_a_page(run, qa_run, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(run), str(qa_run), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(out)
    assert out.is_file()


def test_no_run_is_wrong_use_and_a_folder_without_a_log_is_bad_data(tmp_path, capsys):
    assert main(["report"]) == 2
    assert main(["report", str(tmp_path)]) == 3
    assert "metrics.jsonl" in capsys.readouterr().err
