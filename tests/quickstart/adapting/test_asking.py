"""All columns are asked the same questions; answers before and after are shown for the same ones."""

from spanwise.interop.huggingface import read_folder
from spanwise.quickstart.adapting.asking import ask, own_answer, with_random_weights
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.questions import subset
from spanwise.tasks.qa.reader import read_questions


def test_every_column_has_a_score_with_its_error_and_a_gain_over_each_control(toys):
    loaded, start = toys.loaded(), read_folder(toys.start)
    control = with_random_weights(loaded, start)
    with open_bundle() as bundle:
        data = subset(read_questions(bundle.own_questions), 8)

    asked = ask({"init": loaded, "trained": loaded, "control": control}, data, "en", num_questions=8)

    assert [measure.key for measure in asked.measures] == ["exact", "f1"] and asked.num_questions == 8
    for measure in asked.measures:
        assert set(measure.values) == {"init", "trained", "control", "lexical"}
        assert all(measure.gains.get(name) is not None for name in ("init", "control", "lexical"))
        assert measure.gains.get("init").verdict == "not above init"  # the same weights
    assert asked.answers and all(one.before.answer == one.after.answer for one in asked.answers)
    assert len({one.after.context for one in asked.answers}) == len(asked.answers)


def test_a_persons_question_is_answered_twice_from_the_nearest_paragraph(toys):
    found = own_answer("Who built a mill?", ["Ada built the mill.", "It rained."], toys.loaded(), toys.loaded())
    assert found.before.context == "Ada built the mill." and found.after.answer in found.after.context
    assert own_answer("Zebra?", ["Ada built the mill."], toys.loaded(), toys.loaded()) is None
