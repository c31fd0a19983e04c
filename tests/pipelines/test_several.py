"""One, many, a stream; and inputs that are no texts."""

import pytest

from spanwise.pipelines.given import OptionError
from spanwise.pipelines.several import STREAM_BATCH, InputError, answer_all, checked_text, chosen_overflow


def parse(item):
    return checked_text("the text", item)


def test_one_gives_one_a_list_a_list_and_a_stream_a_stream():
    def answer(items):
        return [item.upper() for item in items]

    assert answer_all("a", parse, answer) == "A"
    assert answer_all(["a", "b"], parse, answer) == ["A", "B"] and answer_all([], parse, answer) == []
    assert answer_all(["a"], parse, answer) == ["A"]  # a list of one is a list
    assert list(answer_all(map(str.strip, [" a", "b "]), parse, answer)) == ["A", "B"]


def test_a_stream_is_read_a_few_at_a_time():
    sizes, read = [], []

    def items():
        for number in range(STREAM_BATCH + 3):
            read.append(number)
            yield str(number)

    def answer(batch):
        sizes.append(len(batch))
        return batch

    stream = answer_all(items(), parse, answer)
    assert read == [] and next(stream) == "0" and len(read) == STREAM_BATCH
    assert len(list(stream)) == STREAM_BATCH + 2 and sizes == [STREAM_BATCH, 3]


@pytest.mark.parametrize(("item", "words"), [(3, "is a int"), (" \n", "is empty"), ("a\ud800", "half a surrogate")])
def test_the_input_that_is_no_text_is_named(item, words):
    with pytest.raises(InputError, match=f"input 1: the text .*{words}"):
        answer_all(["a", item], parse, list)
    with pytest.raises(ValueError, match=words):
        answer_all(item, parse, list)
    with pytest.raises(InputError, match=f"input 1: .*{words}"):
        list(answer_all((x for x in ["a", item]), parse, list))


def test_what_is_done_with_long_texts_is_one_of_the_tasks_words():
    assert chosen_overflow(None, "truncate", ("truncate", "error")) == "truncate"
    with pytest.raises(OptionError, match="one of truncate, error"):
        chosen_overflow("crash", "truncate", ("truncate", "error"))
