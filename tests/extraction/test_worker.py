"""One process of several does its share, as a program of its own."""

from spanwise.extraction.run import extract
from spanwise.extraction.shards import MOST_DOCUMENTS


def test_several_processes_write_the_bytes_of_one_and_list_what_is_broken(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Bob Dylan sang in Paris.\n\n" * (MOST_DOCUMENTS + 9))  # two shards
    (tmp_path / "in" / "c.txt").write_bytes(b"Bad \xff.\n")
    outs = []
    for processes in (1, 2):
        out = tmp_path / f"out{processes}.jsonl"
        report = extract([tmp_path / "in"], models=["spanwise-mini"], tasks=["tagging"], out=out, processes=processes)
        outs.append(out.read_bytes())
        assert report.num_errors == 1 and b"c.txt#1" in (tmp_path / f"{out.name}.errors.jsonl").read_bytes()
    assert outs[0] == outs[1] and b"Dylan" in outs[0]
