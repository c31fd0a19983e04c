"""Files given to the wrong task: what they look like is said."""

import json
import lzma

import pytest

from spanwise.errors import DataError
from spanwise.tasks.files.guess import looks_like, read_data
from spanwise.tasks.registry import TASKS, task_recipe

FILES = {
    "qa": {
        "squad.json": '{"version": "1.1", "data": [{"paragraphs": [{"context": "a b", "qas": []}]}]}',
        "mrqa.jsonl": '{"header": {"dataset": "X"}}\n{"context": "a", "qas": []}\n',
    },
    "classification": {
        "sst.tsv": "sentence\tlabel\na film\t1\n",
        "own.csv": "text,label\na film,1\n",
        "nli.json": '[{"premise": "a", "hypothesis": "b", "gold_label": "x"}]',
    },
    "multiple-choice": {
        "dream.json": '[[["M: a"], [{"question": "q", "choice": ["a", "b"], "answer": "a"}], "1"]]',
        "swag.csv": ",video-id,sent1,sent2,ending0,ending1,label\n0,v,a,b,c,d,0\n",
        "copa.xml": '<?xml version="1.0"?>\n<copa-corpus><item id="1"/></copa-corpus>',
        "own.jsonl": '{"question": "q", "choices": ["a", "b"], "answer": 0}\n',
    },
    "relation": {
        "tacred.json": '[{"token": ["a", "b"], "subj_start": 0, "subj_end": 0, "obj_start": 1, "relation": "x"}]',
        "semeval.txt": '1\t"The <e1>a</e1> of <e2>b</e2>."\nOther\n',
        "scierc.jsonl": '{"text": "[[ a ]] of << b >>", "label": "X"}\n',
    },
    "tagging": {
        "conll.txt": "Han NNP B-LOC\nis VBZ O\n\n",
        "chars.tsv": "## 1\tx\n한\tB-LC\n \tO\n",
        "ud.conllu": "# text = a\n1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n",
        "own.jsonl": '{"tokens": ["a"], "tags": ["O"]}\n',
    },
    "coref": {
        "ontonotes.conll": "#begin document (a); part 000\na 0 0 b (0)\n",
        "gap.tsv": "ID\tText\tPronoun\tPronoun-offset\tA\n",
        "own.jsonl": '{"doc_key": "a", "sentences": [["a"]], "clusters": []}\n',
    },
}
CASES = [(name, file) for name, files in FILES.items() for file in files]


def test_every_task_has_files_to_be_told_by():
    assert set(FILES) == set(TASKS)


@pytest.mark.parametrize(("name", "file"), CASES)
def test_a_file_is_told_by_its_beginning(tmp_path, name, file):
    (tmp_path / file).write_text(FILES[name][file], encoding="utf-8-sig")
    assert looks_like(tmp_path / file) == name
    packed = tmp_path / f"{file}.xz"
    packed.write_bytes(lzma.compress(FILES[name][file].replace("\n", "\r\n").encode()))
    assert looks_like(packed) == name


@pytest.mark.parametrize(
    "content", ["", "A plain text.\nOf two lines.\n", "a\tb\tc\n", "[1, 2]", "{}", "{bad", "[]", "[" * 30_000]
)
def test_what_is_no_tasks_file_is_not_guessed_at(tmp_path, content):
    (tmp_path / "a.txt").write_text(content)
    assert looks_like(tmp_path / "a.txt") is None
    assert looks_like(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("name", "other", "file"),
    [(name, other, file) for name in FILES for other, file in [(o, next(iter(FILES[o]))) for o in FILES if o != name]],
)
def test_the_wrong_tasks_file_is_refused_and_named(tmp_path, name, other, file):
    """No pair of tasks reads each other's files by mistake."""
    (tmp_path / file).write_text(FILES[other][file])
    with pytest.raises(DataError, match=f"{file}.* The file looks like one of the task '{other}'"):
        read_data(name, task_recipe(name).task, tmp_path / file, purpose="train")


def test_an_own_file_that_is_malformed_is_not_called_its_own(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"question": "q", "choices": ["a"], "answer": 0}))
    with pytest.raises(DataError, match=r"a question needs two\.$"):
        read_data("multiple-choice", task_recipe("multiple-choice").task, path, purpose="train")
