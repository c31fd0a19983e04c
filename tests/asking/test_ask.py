"""Questions of a folder find their answer, its sentence and its place."""

import pytest

import spanwise
from spanwise.asking.ask import Asked, AskOptions, FoundAnswer, TextFolder
from spanwise.errors import CheckpointError, ConfigError, DataError

BRIDGE = "The bridge over the river was built in 1890 by the city of Boston."
UNIVERSITY = "The university was founded in 1850 by Anna Miller, who gave her house to it."
ENGLISH = f"History\n\n{BRIDGE} It is made of stone and has three arches.\n\n{UNIVERSITY} It has 4,000 students.\n"
KOREAN = (
    "가람다리는 1890년에 서울시가 강 위에 지었다. 다리는 돌로 되어 있다.\n\n한빛대학교는 1850년에 김민수가 세웠다.\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "english.txt").write_text(ENGLISH)
    (folder / "korean").mkdir()
    (folder / "korean" / "text.txt").write_text(KOREAN)
    (folder / "page.html").write_text("<h1>Port</h1>\n<p>The harbour wall was raised in <b>1931</b> by John Smith.</p>")
    return folder


@pytest.fixture(scope="module")
def text(folder):
    return TextFolder(folder, device="cpu", precision="fp32")


def best(asked: Asked) -> FoundAnswer:
    return asked.answers[0]


def test_an_answer_comes_with_its_sentence_file_and_line(text):
    found = best(text.ask("When was the university founded?", AskOptions(threshold=0.0)))
    assert (found.answer, found.file, found.line, found.page) == ("1850", "english.txt", 5, None)
    assert found.sentence == UNIVERSITY and found.sentence[found.start : found.end] == found.answer
    assert 0 < found.score <= 1
    found = best(text.ask("When was the harbour wall raised?", AskOptions(threshold=0.0)))
    assert (found.file, found.line) == ("page.html", 2) and "1931" in found.answer


def test_a_korean_question_is_read_by_the_korean_model_in_the_same_folder(text):
    found = best(text.ask("한빛대학교는 언제 세워졌는가?", AskOptions(threshold=0.0)))
    assert found.file == "korean/text.txt" and "1850" in found.answer and found.line == 3


def test_below_the_threshold_nothing_is_found(text):
    question = "When was the university founded?"
    score = best(text.ask(question, AskOptions(threshold=0.0))).score
    assert text.ask(question, AskOptions(threshold=min(1.0, score + 0.01))).answers == ()
    assert text.ask(question, AskOptions(threshold=score)).answers
    nothing = text.ask("Zzyx qwv?", AskOptions(threshold=0.0))
    assert nothing.record() == {"question": "Zzyx qwv?", "found": False, "answers": []}


def test_more_answers_come_best_first_and_differ(text):
    answers = text.ask("When was the bridge built?", AskOptions(top=4, threshold=0.0)).answers
    assert len({answer.answer for answer in answers}) == len(answers) == 4
    assert [answer.score for answer in answers] == sorted((answer.score for answer in answers), reverse=True)


def test_the_python_call_answers_one_question_or_several(folder):
    one = spanwise.ask(folder, "When was the university founded?", threshold=0.0, device="cpu")
    several = spanwise.ask(str(folder), ["When was the bridge built?"], model="spanwise-mini", threshold=0.0, top=2)
    assert isinstance(one, Asked) and best(one).answer == "1850"
    assert [len(asked.answers) for asked in several] == [2]


def test_what_cannot_be_asked_is_told(folder, text, tmp_path):
    with pytest.raises(DataError, match="question is empty"):
        text.ask(" ")
    with pytest.raises(DataError, match="half a surrogate pair"):
        text.ask("\udcecWho?")
    for wrong in (5, None, [1], {"Who?"}):
        with pytest.raises(DataError, match="a text, or a list of texts, was expected"):
            spanwise.ask(folder, wrong)
    with pytest.raises(DataError, match="nothing to read"):
        TextFolder(tmp_path)
    with pytest.raises(CheckpointError, match="none"):
        TextFolder(folder, model=tmp_path / "none")
    with pytest.raises(ConfigError, match="threshold"):
        AskOptions(threshold=1.5)
    with pytest.raises(ConfigError, match="top"):
        AskOptions(top=0)
    with pytest.raises(ConfigError, match="name the model"):
        TextFolder(folder, tokenizer=tmp_path)
