"""Windows of questions and passages: exact layout, exact offsets, nothing lost."""

import dataclasses

import numpy as np
import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.features import TARGET, make_windows, measure_reach, token_range
from spanwise.tasks.qa.score import METRICS
from spanwise.text.tokenizers import Encoding, Tokenizer

SIZES = {"max_length": 64, "doc_stride": 16, "max_question_tokens": 64}


def one_question(context, answer=None, question="Where?"):
    answers = () if answer is None else (answer,)
    return SquadData(
        source="own",
        version="1.1",
        contexts=(context,),
        titles=("",),
        questions=(Question("q", question, 0, answers),),
        has_unanswerable=False,
    )


def test_a_window_is_cls_question_sep_passage_sep_with_token_types(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **{**SIZES, "max_length": 512})
    assert len(windows) == 4
    batch = windows.assemble(np.array([3, 0]))
    ids, types = batch.input_ids.tolist(), batch.token_type_ids.tolist()
    start = 0
    for row in (3, 0):
        question = tokenizer.encode(squad11.questions[row].text).ids.tolist()
        passage = tokenizer.encode(squad11.context_of(squad11.questions[row])).ids.tolist()
        expected = [tokenizer.cls_id, *question, tokenizer.sep_id, *passage, tokenizer.sep_id]
        stop = start + len(expected)
        assert ids[start:stop] == expected
        assert types[start:stop] == [0] * (len(question) + 2) + [1] * (len(passage) + 1)
        start = stop
    assert start == len(ids) == batch.num_tokens
    assert batch.counts == {TARGET: 2} and batch.ids == (3, 0)


def test_the_targets_of_a_pack_point_at_the_answer_pieces(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **SIZES)
    batch = windows.assemble(np.arange(len(windows)))
    targets, borders = batch.targets[TARGET], batch.sequences.cu_seqlens.tolist()
    shown = set()
    for row, (first, last) in enumerate(zip(targets.first_G.tolist(), targets.last_G.tolist(), strict=True)):
        question = squad11.questions[windows.question_W[row]]
        if first == last == borders[row]:
            continue  # [CLS]: this window does not show the answer
        assert borders[row] < first <= last < borders[row + 1]
        pieces = tokenizer.tokens(batch.input_ids[first : last + 1].numpy())
        assert "".join(piece.removeprefix("##") for piece in pieces) == question.answers[0].text.replace(" ", "")
        shown.add(question.id)
    assert shown == {question.id for question in squad11.questions}


def test_one_type_encoders_get_no_second_type(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **SIZES, num_token_types=1)
    assert windows.assemble(np.arange(len(windows))).token_type_ids.sum() == 0


def test_long_questions_are_cut_counted_and_leave_room_for_the_passage(tokenizer):
    data = one_question("Seoul lies on the Han.", question="why " * 200)
    windows = make_windows(data, tokenizer, **SIZES)
    assert windows.num_cut_questions == 1
    assert len(windows.question_ids[0]) == 64 - 3 - 16
    assert make_windows(data, tokenizer, **{**SIZES, "max_question_tokens": 10}).passage_start(0) == 12
    assert windows.lengths_W.max() <= 64 and windows.last_W.max() == len(windows.passages[0].ids)


def test_contexts_shorter_than_the_question_and_longer_than_any_window_are_covered(tokenizer):
    short = make_windows(
        one_question("Han", question="Which river is long and flows through Seoul?"), tokenizer, **SIZES
    )
    assert (len(short), short.last_W[0]) == (1, 1)
    long = make_windows(one_question("Seoul is old. " * 3000), tokenizer, **SIZES)
    covered = np.zeros(len(long.passages[0].ids), dtype=bool)
    for first, last in zip(long.first_W, long.last_W, strict=True):
        covered[first:last] = True
    assert covered.all() and long.lengths_W.max() <= 64


def test_windows_can_be_given_their_overlap_instead_of_their_stride(tokenizer):
    data = one_question("Han " * 200)
    windows = make_windows(data, tokenizer, max_length=64, max_question_tokens=64, overlap=20)
    assert (windows.last_W[:-1] - windows.first_W[1:] == 20).all()
    crowded = make_windows(data, tokenizer, max_length=16, max_question_tokens=64, overlap=400)
    assert crowded.last_W[-1] == 200
    numbers = [
        len(make_windows(data, tokenizer, max_length=64, max_question_tokens=64, overlap=overlap))
        for overlap in range(64)
    ]
    assert numbers == sorted(numbers) and numbers[-1] < 4 * numbers[0] + 4  # and not a window for every token
    with pytest.raises(ConfigError, match="either"):
        make_windows(data, tokenizer, max_length=64, max_question_tokens=64)


def test_user_text_never_becomes_a_special_id(tokenizer):
    data = one_question("[CLS] Seoul [SEP] [MASK] [PAD] [UNK]", question="[SEP] Where [CLS]?")
    ids = make_windows(data, tokenizer, **SIZES).assemble(np.array([0])).input_ids.tolist()
    assert (ids.count(tokenizer.cls_id), ids.count(tokenizer.sep_id)) == (1, 2)
    assert not {tokenizer.mask_id, tokenizer.pad_id} & set(ids)


def test_an_answer_of_which_the_tokenizer_keeps_nothing_is_counted_and_left_out_of_training(tokenizer):
    data = one_question("Han \x07\x07 River", Answer("\x07\x07", 4))
    assert make_windows(data, tokenizer, **SIZES).num_unreachable_answers == 1
    with pytest.raises(DataError, match="no question is left"):
        make_windows(data, tokenizer, **SIZES, skip_unreachable=True)


@pytest.mark.parametrize("sizes", [{"max_length": 7}, {"max_question_tokens": 0}])
def test_sizes_without_room_are_errors(tokenizer, squad11, sizes):
    with pytest.raises(ConfigError):
        make_windows(squad11, tokenizer, **{**SIZES, **sizes})


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), st.data())
def test_offsets_of_any_text_cut_out_the_answer(tokenizer, context, draw):
    encoding = tokenizer.encode(context)
    offsets = np.asarray(encoding.offsets)
    assert (offsets[:, 0] <= offsets[:, 1]).all() and (np.diff(offsets, axis=0) >= 0).all()
    assert not len(offsets) or (offsets.min() >= 0 and offsets.max() <= len(context))
    start = draw.draw(st.integers(0, len(context) - 1))
    end = draw.draw(st.integers(start + 1, len(context)))
    found = token_range(offsets, start, end)
    if found is None:  # no token touches these characters
        assert not ((offsets[:, 1] > start) & (offsets[:, 0] < end) & (offsets[:, 1] > offsets[:, 0])).any()
    else:
        touching = np.flatnonzero((offsets[:, 1] > start) & (offsets[:, 0] < end))
        assert (touching[0], touching[-1] + 1) == found


def stock_tokenizer(kind, folder):
    """A tokenizer of transformers and the same as ours."""
    lines = ["Where is the old river of Seoul? It runs past a stone bridge, and into the quiet town."] * 5
    blank = getattr(transformers, kind)()
    theirs = blank.train_new_from_iterator(lines, vocab_size=330, show_progress=False)
    theirs.save_pretrained(folder)
    return theirs, Tokenizer.load(folder)


@pytest.mark.parametrize("kind", ["BertTokenizer", "RobertaTokenizer", "AlbertTokenizer", "ElectraTokenizer"])
def test_windows_are_what_the_familys_own_tokenizer_makes_of_a_pair(kind, tmp_path):
    theirs, ours = stock_tokenizer(kind, tmp_path)
    question, context = "Where is the river?", "The old river runs past a stone bridge into town."
    answer = Answer("stone", context.index("stone"))
    num_types = 1 if kind == "RobertaTokenizer" else 2

    windows = make_windows(one_question(context, answer, question), ours, **SIZES, num_token_types=num_types)

    batch, expected = windows.assemble(np.array([0])), theirs(question, context, return_token_type_ids=True)
    assert batch.input_ids.tolist() == expected["input_ids"]
    assert batch.token_type_ids.tolist() == [min(number, num_types - 1) for number in expected["token_type_ids"]]
    first, last = int(batch.targets[TARGET].first_G), int(batch.targets[TARGET].last_G)
    assert theirs.decode(expected["input_ids"][first : last + 1]).strip() == "stone"


def test_a_tokenizer_that_parts_no_two_texts_is_refused(tmp_path):
    _, ours = stock_tokenizer("OpenAIGPTTokenizer", tmp_path)
    with pytest.raises(ConfigError, match="no special token between two texts"):
        make_windows(one_question("Seoul is old."), ours, **SIZES)


SQUAD = METRICS["squad"]


def pieces(context, *borders):
    """A passage cut at these characters."""
    places = np.array([0, *borders, len(context)])
    offsets = np.stack([places[:-1], places[1:]], axis=1)
    return Encoding(ids=np.arange(len(offsets)), offsets=offsets, word_ids=np.arange(len(offsets)))


def reach_of(context, passage, *golds, metric=SQUAD, max_answer_tokens=30, allow_null=True):
    answers = [tuple(Answer(text, context.find(text)) for text in texts) for texts in golds]
    data = SquadData(
        source="own",
        version="",
        contexts=(context,),
        titles=("",),
        questions=tuple(Question(str(k), "?", 0, found) for k, found in enumerate(answers)),
        has_unanswerable=() in answers,
    )
    places = np.zeros(len(golds), dtype=int)
    return measure_reach(data, [passage], places, metric, max_answer_tokens=max_answer_tokens, allow_null=allow_null)


def test_an_answer_that_ends_inside_a_piece_cannot_be_reached():
    context = "서울에서 한강까지"
    whole = pieces(context, 4, 5)
    found = reach_of(context, whole, ["서울에서"], ["서울"], ["한강까지"])
    assert (found.num_answerable, found.num_off_borders, found.num_unmatched) == (3, 1, 1)
    assert found.off_borders == found.record()["off_borders"] == pytest.approx(100 / 3)
    assert found.exact_ceiling == pytest.approx(200 / 3)
    assert "1 of 3 answers (33.3 %)" in str(found) and "cannot pass 66.7" in str(found)
    assert reach_of(context, pieces(context, 2, 4, 5), ["서울"]).exact_ceiling == 100.0


def test_what_the_metric_forgives_can_be_reached_off_the_borders():
    context = "It is (494 km) long."
    around = pieces(context, 2, 3, 5, 6, 14, 15)  # It/ /is/ /(494 km)/ /long.
    found = reach_of(context, around, ["494 km"], ["is (494"])
    assert (found.num_off_borders, found.num_unmatched) == (2, 1)


def test_any_gold_answer_and_any_place_of_it_will_do():
    context = "Hanam or Han"
    passage = pieces(context, 5, 6, 8, 9)
    assert reach_of(context, passage, ["Han"]).num_off_borders == 0  # the second place has borders
    assert reach_of(context, passage, ["Hana", "Hanam"]).num_unmatched == 0
    assert reach_of("THE han. ", pieces("THE han. ", 3, 4, 7, 8), ["Han"]).num_unmatched == 0  # in any case


def test_longer_spans_than_are_offered_are_not_reached():
    context = "a b c"
    passage = pieces(context, 1, 2, 3, 4)
    assert reach_of(context, passage, ["b c"], max_answer_tokens=2).num_unmatched == 1
    assert reach_of(context, passage, ["b c"], max_answer_tokens=3).num_unmatched == 0


def test_questions_without_an_answer_are_reached_where_the_model_may_abstain():
    context = "Han Seoul"
    passage = pieces(context, 3, 4)
    assert reach_of(context, passage, ["Han"], []).exact_ceiling == 100.0
    never = reach_of(context, passage, ["Han"], [], allow_null=False)
    assert (never.exact_ceiling, never.num_unanswerable) == (50.0, 1)
    assert reach_of(context, passage, []) is None


def test_a_passage_without_a_piece_reaches_nothing():
    nothing = dataclasses.replace(pieces("x"), ids=np.zeros(0), offsets=np.zeros((0, 2)), word_ids=np.zeros(0))
    assert reach_of("\x07", nothing, ["\x07"]).num_unmatched == 1


def test_the_ceiling_is_what_a_search_over_all_spans_finds(tokenizer, squad11):
    passages = tokenizer.encode_batch(list(squad11.contexts))
    found = measure_reach(
        squad11,
        passages,
        np.array([question.paragraph for question in squad11.questions]),
        SQUAD,
        max_answer_tokens=30,
        allow_null=True,
    )
    reached = 0
    for question in squad11.questions:
        offsets, context = passages[question.paragraph].offsets, squad11.context_of(question)
        texts = {
            SQUAD.normalize(context[offsets[first][0] : offsets[last][1]])
            for first in range(len(offsets))
            for last in range(first, min(first + 30, len(offsets)))
        }
        reached += any(SQUAD.normalize(answer.text) in texts for answer in question.answers)
    assert found.exact_ceiling == 100.0 * reached / len(squad11.questions)
