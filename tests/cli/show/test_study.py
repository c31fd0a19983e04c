"""`spanwise show study` lists studies and probes, and says what the arms of one differ in."""

import json

from spanwise.cli.main import main


def test_all_studies_and_probes_are_listed(capsys):
    assert main(["show", "study"]) == 0
    told = capsys.readouterr().out
    assert "objectives" in told and "SpanBERT, table 7" in told and "span-pairs" in told
    assert main(["show", "study", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"studies", "probes"}


def test_one_study_tells_arms_budget_and_the_files_its_probes_need(capsys):
    assert main(["show", "study", "objectives"]) == 0
    told = capsys.readouterr().out
    assert "30,000,000 tokens per arm" in told and "coref/ontogum/train*" in told and "--valid" in told
    assert main(["show", "study", "electra-at-equal-compute", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["budget"] == "1.5e+14 operations per arm" and "corruption" in record["arms"]["electra"]


def test_a_wrong_name_is_answered_with_the_nearest(capsys):
    assert main(["show", "study", "objectivs"]) == 2
    assert "objectives" in capsys.readouterr().err
