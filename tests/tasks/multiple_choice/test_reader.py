"""Questions of every file, with an answer that is one of their choices."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.tasks.multiple_choice.reader import read_choices

SWAG = (
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    '0,v,1,"A man, tall, x","A man, tall, walks in.",He,gold,"sits ""down"".",runs.,flies.,melts.,0\n'
)
CODAH = "o\tThe driver pulled up. He\tslept.\twalked in.\tsang.\tleft.\t1\n"
DREAM = [[["M: Hi.", "W: Bye."], [{"question": "Who?", "choice": ["A man.", "A dog."], "answer": "A dog."}], "d1"]]
RACE = {
    "id": "r",
    "article": "Long ago.",
    "questions": ["When?", "Who?"],
    "options": [["now", "ago"], ["a", "b", "c"]],
    "answers": ["B", "A"],
}
COPA = """<?xml version="1.0"?><copa-corpus><item id="1" asks-for="cause" most-plausible-alternative="2">
<p>It was wet.</p><a1>The sun rose.</a1><a2>It rained.</a2></item></copa-corpus>"""


def read(tmp_path, content, name, purpose="train"):
    path = tmp_path / name
    path.write_bytes((content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode())
    return read_choices(path, purpose=purpose).questions


def test_swag_stands_behind_its_sentence_with_the_start_of_the_next(tmp_path):
    (question,) = read(tmp_path, SWAG, "a.csv")
    assert (question.first, question.answer) == ("A man, tall, walks in.", 0)
    assert question.second(question.choices[0]) == 'He sits "down".'


def test_codah_is_a_prompt_with_four_endings(tmp_path):
    (question,) = read(tmp_path, CODAH, "a.tsv")
    assert question.first == "The driver pulled up. He" and question.choices[question.answer] == "walked in."
    assert question.second("sang.") == "sang."


def test_dream_and_race_are_passages_with_questions(tmp_path):
    (question,) = read(tmp_path, DREAM, "a.json")
    assert (question.first, question.second("A dog."), question.answer) == ("M: Hi. W: Bye.", "Who? A dog.", 1)
    first, second = read(tmp_path, json.dumps(RACE), "a.jsonl")
    assert (first.answer, second.answer, len(second.choices)) == (1, 0, 3) and first.id == "r-0"
    assert [q.answer for q in read(tmp_path, json.dumps(RACE), "a.jsonl", purpose="predict")] == [-1, -1]


def test_copa_asks_for_cause_or_effect_and_counts_from_one(tmp_path):
    (question,) = read(tmp_path, COPA, "a.xml")
    assert question.second("It rained.") == "What was the cause of this? It rained." and question.answer == 1
    glue = {"premise": "It was wet.", "choice1": "Sun.", "choice2": "Rain.", "question": "effect", "label": 1, "idx": 3}
    (question,) = read(tmp_path, json.dumps(glue), "a.jsonl")
    assert (question.question, question.answer, question.id) == ("What happened as a result?", 1, "3")
    kobest = "ID\tsentence\tquestion\t1\t2\tAnswer\r\n1\t비가 왔다.\t결과\t젖었다.\t말랐다.\t1\r\n"
    (question,) = read(tmp_path, kobest, "a.tsv")
    assert question.question == "결과는 무엇인가?" and question.choices[question.answer] == "젖었다."
    hella = "context\tchoice1\tchoice2\tchoice3\tlabel\nx\ta\tb\tc\t2\n"
    assert read(tmp_path, hella, "b.tsv")[0].answer == 2


@pytest.mark.parametrize(
    ("content", "name", "answer"),
    [
        ("sent1,sent2,ending0,ending1,ending2,ending3,label\nTwo and one?,It is,1,2,3,4,2\n", "a.csv", 2),
        ("q\tHow many legs?\t1\t2\t3\t4\t3\n", "a.tsv", 3),
        ("context\tchoice1\tchoice2\tchoice3\tlabel\nx\t2\t1\t0\t2\n", "a.tsv", 2),
        ("ID\tsentence\tquestion\t1\t2\tAnswer\n1\t수는?\t결과\t2\t1\t1\n", "a.tsv", 0),
        ('{"question": "q", "choices": ["1", "2", "3"], "answer": "2"}', "a.jsonl", 1),
        ('{"question": "q", "choices": ["1", "2", "3"], "answer": 2}', "a.jsonl", 2),
        ('{"question": "q", "choices": ["a", "b"], "answer": 1.0}', "a.jsonl", 1),
        ('{"ctx": "c", "endings": ["3", "2", "1", "0"], "label": "3"}', "a.jsonl", 3),
    ],
)
def test_choices_of_digits_are_no_numbers_of_choices(tmp_path, content, name, answer):
    assert read(tmp_path, content, name)[0].answer == answer


def test_plain_objects_name_the_answer_by_text_letter_or_number(tmp_path):
    rows = [{"question": "1 + 1?", "choices": ["1", "2", "3"], "answer": answer} for answer in ("2", "B", 1)]
    found = read(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl")
    assert [question.answer for question in found] == [1, 1, 1]
    assert found[0].first == "1 + 1?" and found[0].second("2") == "2" and [q.id for q in found] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"question": "q", "choices": ["a"], "answer": 0}, "1 choices; a question needs two"),
        ({"question": "q", "choices": [], "answer": 0}, "0 choices"),
        ({"question": "q", "choices": ["a", " "], "answer": 0}, "choice 2 is ' '"),
        ({"question": "q", "choices": ["a", "b"], "answer": 2}, "answer 2 is none of its 2"),
        ({"question": "q", "choices": ["a", "b"], "answer": -1}, "answer -1 is none"),
        ({"question": "q", "choices": ["a", "b"], "answer": True}, "answer True is none"),
        ({"question": "q", "choices": ["a", "b"], "answer": "c"}, "answer 'c' is none"),
        ({"question": "q", "choices": ["a", "b"]}, "is missing"),
        ({"choices": ["a", "b"], "answer": 0}, "neither a context nor a question"),
        ({"question": 3, "choices": ["a", "b"], "answer": 0}, "the question is 3"),
        ({"words": 1}, "its form is not known; it has words"),
        ({**RACE, "answers": ["A"]}, "lists of one length"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, row, words):
    with pytest.raises(DataError, match=rf"a\.jsonl, line 1.*{words}"):
        read(tmp_path, json.dumps(row), "a.jsonl")


BAD_DIALOGUES = [[["a"], 3], [["a"], [{"question": "q", "choice": ["x", "y"]}], "d2"], *DREAM]
BAD_ITEM = '<item id="7" asks-for="cause"><p>a</p><a1>b</a1><a2>c</a2></item>'


@pytest.mark.parametrize(
    ("content", "name", "num_dropped"),
    [(BAD_DIALOGUES, "a.json", 2), (COPA.replace("<item", f"{BAD_ITEM}<item", 1), "a.xml", 1)],
)
def test_malformed_dialogues_and_items_are_left_out_and_counted(tmp_path, content, name, num_dropped):
    with pytest.raises(DataError, match=r"(dialogue|item) .*--errors repair"):
        read(tmp_path, content, name)
    found = read_choices(tmp_path / name, purpose="train", errors="repair")
    assert (len(found), found.num_dropped) == (1, num_dropped)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("<copa-corpus>", "a.xml", "not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a/>', "a.xml", "declares entities"),
        ("<copa-corpus/>", "a.xml", "no question"),
        (
            COPA.replace(' most-plausible-alternative="2"', ""),
            "a.xml",
            "item 1: 'most-plausible-alternative' is missing",
        ),
        ([[["a"], 3]], "a.json", "dialogue 1: expected a list of turns"),
        ([[["a"], [{"question": "q", "choice": ["x", "y"]}]]], "a.json", "question 1: the answer is missing"),
    ],
)
def test_files_that_are_none_are_named(tmp_path, content, name, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, content, name)


def test_the_real_files_have_the_published_numbers_of_questions(data_folder):
    for path, number, choices in (
        ("mc/dream/train.json.xz", 6116, 3),
        ("mc/dream/dev.json.xz", 2040, 3),
        ("mc/codah/fold0_train.tsv.xz", 1665, 4),
        ("mc/codah/fold0_dev.tsv", 556, 4),
        ("mc/balanced-copa-dev-all.xml.xz", 1000, 2),
        ("ko/kobest/COPA/train.tsv.xz", 3076, 2),
        ("ko/kobest/HellaSwag/dev.tsv.xz", 500, 4),
    ):
        questions = read_choices(data_folder / path, purpose="train").questions
        assert len(questions) == number and {len(question.choices) for question in questions} == {choices}, path


@pytest.fixture
def race(tmp_path):
    """RACE as it is published: three passages, one a file."""
    for number, name in enumerate(("middle/10", "middle/9", "high/1")):
        path = tmp_path / "RACE" / "dev" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        id, answers = f"{path.parent.name}{path.stem}.txt", ["B", "ABC"[number]]
        path.write_text(json.dumps({**RACE, "id": id, "answers": answers}))
    return tmp_path / "RACE"


def test_the_folder_of_race_is_read_file_by_file_in_order(race):
    questions = read_choices(race / "dev", purpose="score").questions
    assert [q.id for q in questions[::2]] == ["high1.txt-0", "middle9.txt-0", "middle10.txt-0"]
    assert [q.group for q in questions] == ["high"] * 2 + ["middle"] * 4 and questions[1].answer == 2
    alone = read_choices(race / "dev" / "middle", purpose="score").questions
    assert [q.id for q in alone] == [q.id for q in questions[2:]]


def test_a_folder_that_is_no_part_of_race_is_named_with_what_is_in_it(race, tmp_path):
    with pytest.raises(DataError, match=r"holds dev; name one of them, such as .*dev"):
        read_choices(race, purpose="score")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no file of a passage"):
        read_choices(tmp_path / "empty", purpose="score")
    (race / "dev" / "high" / "2.txt").write_text('{"article": "a"}')
    with pytest.raises(DataError, match=r"2\.txt: expected an object of article"):
        read_choices(race / "dev", purpose="score")
    found = read_choices(race / "dev", purpose="train", errors="repair")
    assert len(found) == 6 and found.num_dropped == 1


def test_malformed_questions_may_be_left_out_and_are_counted(tmp_path):
    rows = [{"question": "q", "choices": ["a", "b"], "answer": 0}, {"question": "q", "choices": ["a"], "answer": 0}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = read_choices(tmp_path / "a.jsonl", purpose="train", errors="repair")
    assert len(data) == 1 and data.num_dropped == 1
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(rows[number]) for number in (0, 1, 0)))
    found = read_choices(tmp_path / "b.jsonl", purpose="predict", errors="repair")
    assert [question.id for question in found.questions] == ["0", "2"]  # an answer's number is that of its row
