"""A small file of every task, and what its pipeline is asked for the same rows."""

import json
from dataclasses import dataclass
from typing import Any

LONG = "The Han River is long and the bridge is in Seoul . " * 16


@dataclass(frozen=True)
class Example:
    """A task's small file: the rows, one that is too long, and what its pipeline takes and says of each row."""

    pipeline: str
    file: str
    content: str
    long: str
    inputs: tuple[Any, ...]
    recipe: str | None = None
    changes: tuple[str, ...] = ()


def squad(*rows):
    paragraphs = [
        {
            "context": text,
            "qas": [{"id": f"q{n}", "question": asked, "answers": [{"text": told, "answer_start": text.index(told)}]}],
        }
        for n, (text, asked, told) in enumerate(rows)
    ]
    return json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]})


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


QUESTIONS = [
    ("The Han River (한강) is 494 km long and meets the sea.", "How long is the Han?", "494 km"),
    ("Green tea from Boseong is picked in April.", "When is tea picked?", "April"),
    ("In 1900 the first bridge opened in Seoul.", "When did the bridge open?", "1900"),
]
TEXTS = [("The Han is long", "a"), ("km km 강", "b"), ("A bridge is in Seoul", "a"), ("in and in", "b"), ("Han", "a")]
RELATIONS = [
    {"text": text, "subject": {"start": s, "end": s + 3, "type": kind}, "object": [o, o + 3], "label": label}
    for text, s, o, kind, label in (
        ("Ada is in Han", 0, 10, "PER", "in"),
        ("Ada and Bob of Han", 8, 0, "PER", "no_relation"),
        ("Bob and the Han", 12, 0, "LOC", "no_relation"),
        ("the Han is of Ada", 4, 14, "LOC", "in"),
    )
]
CHOICES = [
    {"context": "The Han is a", "choices": ["river", "bridge"], "answer": 0},
    {"context": "Seoul is", "question": "in ?", "choices": ["km", "Apr", "the Han"], "answer": 2},
    {"question": "and ?", "choices": ["the", "In"], "answer": 1},
]
TAGGED = [
    (["The", "Han", "River", "is", "long"], ["O", "B-LOC", "I-LOC", "O", "O"]),
    (["In", "Seoul"], ["O", "B-LOC"]),
    (["km", "Apr", "한강"], ["B-LEN", "O", "B-LOC"]),
]
STORIES = [
    {
        "doc_key": f"d{n}",
        "sentences": [[a, "is", "in", "Seoul"], ["she", "and", b]],
        "clusters": [[[0, 0], [4, 4]]],
    }
    for n, (a, b) in enumerate((("Ada", "Bob"), ("Bob", "Ada"), ("Han", "Ada")))
]
CASES = {
    "qa": Example(
        "question-answering", "q.json", squad(*QUESTIONS),
        squad((LONG, LONG, "Seoul")), tuple({"question": asked, "context": text} for text, asked, _ in QUESTIONS),
    ),
    "classification": Example(
        "text-classification", "t.tsv", "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in TEXTS),
        f"text\tlabel\nkm\ta\n{LONG}\tb\n", tuple(text for text, _ in TEXTS),
    ),
    "multiple-choice": Example(
        "multiple-choice", "c.jsonl", lines(CHOICES), lines([{**CHOICES[0], "context": LONG}]),
        tuple({name: value for name, value in row.items() if name != "answer"} for row in CHOICES),
    ),
    "relation": Example(
        "relation-extraction", "r.jsonl", lines(RELATIONS), lines([{**RELATIONS[0], "text": "Ada is in Han" + LONG}]),
        tuple({name: value for name, value in row.items() if name != "label"} for row in RELATIONS),
    ),
    "tagging": Example(
        "token-classification", "n.conll",
        "".join("".join(f"{word}\t{tag}\n" for word, tag in zip(*row, strict=True)) + "\n" for row in TAGGED),
        "".join(f"{word}\tO\n" for word in LONG.split()), tuple(" ".join(words) for words, _ in TAGGED),
    ),
    "coref": Example(
        "coreference", "s.jsonl", lines(STORIES),
        lines([{"doc_key": "x", "sentences": [LONG.split()], "clusters": []}]),
        ("Ada is in Seoul. She and Bob.", "Han and the River. It is long."), "small",
        ("task.ffn_size=12", "task.feature_size=4", "task.max_segment_length=32", "training.head_learning_rate=1e-3"),
    ),
}  # fmt: skip
NAMES = list(CASES)

COPA = (
    '<?xml version="1.0"?><copa-corpus><item id="1" asks-for="cause" most-plausible-alternative="2">'
    "<p>It was wet.</p><a1>The sun rose.</a1><a2>It rained.</a2></item></copa-corpus>"
)
RACE = {
    "id": "r", "article": "Long ago.", "questions": ["When?", "Who?"], "options": [["now", "ago"], ["a", "b", "c"]],
    "answers": ["B", "A"],
}  # fmt: skip
MRQA = {
    "context": "a b c",
    "qas": [
        {
            "qid": "1",
            "question": "q",
            "answers": ["b"],
            "detected_answers": [{"text": "b", "char_spans": [[2, 2]]}],
        }
    ],
}
TACRED = {
    "id": "a", "relation": "x", "token": ["Ada", "is", "in", "Han"], "subj_start": 0, "subj_end": 0, "obj_start": 3,
    "obj_end": 3, "subj_type": "PER", "obj_type": "LOC",
}  # fmt: skip
KLUE = {
    "guid": "k",
    "sentence": "서울의 한강",
    "subject_entity": {"word": "서울", "start_idx": 0, "end_idx": 1, "type": "LOC"},
    "object_entity": {"word": "한강", "start_idx": 4, "end_idx": 5, "type": "LOC"},
    "label": "x",
}
GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "t1\tAda met Eve and she left.\tshe\t16\tAda\t0\tTRUE\tEve\t8\tFALSE\tu\n"
)
CONLLU = (
    "# text = a b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tNOUN\tNN\t_\t0\troot\t_\tSpaceAfter=No\n"
    "2\tb\tb\tVERB\tVB\t_\t1\tx\t_\t_\n\n"
)
OTHER_FORMS = {
    "qa": {"mrqa.jsonl": lines([{"header": {"dataset": "X"}}, MRQA])},
    "classification": {
        "quoted.csv": 'text,label\n"a, ""b""",x\nc,y\n',
        "many.jsonl": lines([{"text": "a", "labels": ["x"]}, {"text": "b", "labels": []}]),
        "nli.json": json.dumps([{"premise": "a", "hypothesis": "b", "gold_label": "x", "guid": "1"}]),
        "numbers.tsv": "text1\ttext2\tscore\na\tb\t1.5\n",
    },
    "relation": {
        "tacred.json": json.dumps([TACRED]),
        "semeval.txt": '1\t"The <e1>a</e1> of <e2>b</e2>."\nOther\nComment:\n\n',
        "scierc.jsonl": lines([{"text": "a << b >> and [[ c ]] .", "label": "X"}]),
        "klue.json": json.dumps([KLUE]),
    },
    "tagging": {
        "ud.conllu": CONLLU,
        "klue.tsv": "## 1\tx\n한\tB-LC\n \tO\n강\tO\n",
        "spans.jsonl": lines([{"text": "Han River", "spans": [{"start": 0, "end": 3, "label": "X"}]}]),
        "words.jsonl": lines([{"tokens": ["a", "b"], "tags": ["O", "B-X"]}]),
    },
    "multiple-choice": {
        "dream.json": json.dumps([[["M: Hi."], [{"question": "Who?", "choice": ["A", "B"], "answer": "B"}], "d1"]]),
        "swag.csv": ',video-id,sent1,sent2,ending0,ending1,label\n0,v,"A man, tall",He,sits,runs,0\n',
        "codah.tsv": "o\tThe driver\tslept.\twalked in.\tsang.\tleft.\t1\n",
        "race.jsonl": lines([RACE]),
        "copa.xml": COPA,
    },
    "coref": {
        "c.conll": "#begin document (a); part 000\na 0 0 Ada NN * - - - sp * (0)\na 0 1 is VB * - - - sp * -\n"
        "a 0 2 she PR * - - - sp * (0)\n\n#end document\n",
        "gap.tsv": GAP,
    },
}
FORMS = {name: {case.file: case.content, **OTHER_FORMS[name]} for name, case in CASES.items()}  # all the files
