"""Questions in memory."""

from spanwise.tasks.qa.data import Answer, Question, SquadData


def test_an_answer_ends_where_its_text_does_and_a_question_finds_its_passage():
    question = Question("q", "Where?", 1, (Answer("Han", 4),))
    data = SquadData(
        source="own",
        version="",
        contexts=("none", "The Han."),
        titles=("", ""),
        questions=(question,),
        has_unanswerable=False,
    )
    answer = question.answers[0]
    assert data.context_of(question)[answer.start : answer.end] == answer.text
