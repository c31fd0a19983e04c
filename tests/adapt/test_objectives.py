"""What an adaptation learns: the heads, the masks they need, and a piece for questions."""

from dataclasses import replace

import pytest

from spanwise.adapt.objectives import (
    HEADS,
    choose_objective,
    masking_for,
    objectives_of,
    replacement_for,
    tokenizer_for,
)
from spanwise.config import to_record
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    NoMasking,
    QuestionTokens,
    RecurringGroups,
    RecurringSpans,
    Replacement,
    SubwordTokens,
    TwoMaskings,
    WholeWords,
)
from spanwise.recipes import spanbert_selection_mini, spanbert_selection_mixture_mini, splinter_mini
from spanwise.text.learn import learn_tokenizer
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture(scope="module")
def nano():
    return read_folder("spanwise-mini")


@pytest.mark.parametrize(
    ("heads", "chosen"),
    [
        ((), "mlm"),
        (("mlm",), "mlm"),
        (("mlm", "sbo"), "spans"),
        (("span_selection",), "selection"),
        (("mlm", "span_selection"), "mlm-selection"),
        (("mlm", "sbo", "span_selection"), "both"),
    ],
)
def test_auto_is_what_the_start_has_learned_and_any_other_can_be_asked_for(heads, chosen, nano):
    start = replace(nano, heads={name: {} for name in heads})
    assert choose_objective("auto", start) == chosen and (not heads or HEADS[chosen] == heads)
    for wanted in ("spans", "mlm", "selection", "both"):
        assert choose_objective(wanted, start) == wanted


def test_a_wrong_name_and_a_start_that_reads_one_way_are_refused(nano):
    with pytest.raises(ConfigError, match="auto, spans, mlm, selection or both"):
        choose_objective("mln", nano)
    with pytest.raises(CheckpointError, match="left to right"):
        choose_objective("auto", replace(nano, config=replace(nano.config, causal=True)))


def recorded(masking, **more):
    return {"recipe": {"masking": to_record(masking), **more}}


GROUPS, WORDS = RecurringGroups(max_pieces=7), WholeWords(ratio=0.2)


@pytest.mark.parametrize(
    ("objective", "record", "expected"),
    [
        ("spans", {}, GeometricSpans()),
        ("mlm", {}, SubwordTokens()),
        ("selection", {}, RecurringGroups()),
        ("both", {}, TwoMaskings()),
        ("mlm-selection", {}, TwoMaskings(then=SubwordTokens())),
        ("mlm", recorded(WORDS), WORDS),
        ("selection", recorded(WORDS), RecurringGroups()),
        ("both", recorded(WORDS), TwoMaskings(then=WORDS)),
        ("selection", recorded(GROUPS), GROUPS),
        ("spans", recorded(GROUPS), GeometricSpans()),
        ("both", recorded(GROUPS), TwoMaskings(first=GROUPS)),
        ("both", recorded(TwoMaskings(first=GROUPS, then=WORDS)), TwoMaskings(first=GROUPS, then=WORDS)),
        ("selection", recorded(TwoMaskings(first=GROUPS, then=WORDS)), GROUPS),
        ("mlm", recorded(TwoMaskings(first=GROUPS, then=WORDS)), WORDS),
        ("both", recorded(RecurringSpans()), RecurringSpans()),
        ("spans", recorded(RecurringSpans()), GeometricSpans()),
        ("both", recorded(spanbert_selection_mixture_mini().masking), spanbert_selection_mixture_mini().masking),
        ("mlm", recorded(NoMasking()), SubwordTokens()),
        ("mlm", recorded(WORDS, word_unit="morpheme"), SubwordTokens()),  # morphemes would need a tagged store
        ("mlm", {"recipe": {"masking": {"part": "of_another_time"}}}, SubwordTokens()),
        ("mlm", {"recipe": "of another time"}, SubwordTokens()),
    ],
)
def test_masks_are_the_starts_own_as_far_as_the_heads_can_learn_from_them(objective, record, expected):
    assert masking_for(objective, record, whole_words=False) == expected


def test_two_vocabularies_are_compared_on_whole_words_whatever_the_start_learned(nano):
    mixed = recorded(MaskingMixture(schemes={"spans": GeometricSpans(), "words": WholeWords()}))
    assert isinstance(masking_for("spans", mixed, whole_words=False), MaskingMixture)
    assert masking_for("spans", mixed, whole_words=True) == GeometricSpans()
    assert masking_for("spans", nano.record, whole_words=True) == GeometricSpans()
    assert masking_for("mlm", recorded(SubwordTokens()), whole_words=True) == WholeWords()


def test_questions_stand_where_spans_recur_and_what_follows_them_goes_where_it_went_before():
    assert replacement_for("spans", {}) == Replacement()
    assert replacement_for("selection", {}) == QuestionTokens()
    assert replacement_for("both", {}) == QuestionTokens(others=Replacement())
    stays = {"recipe": {"replacement": to_record(QuestionTokens(following="stays", others=Replacement()))}}
    assert replacement_for("selection", stays) == QuestionTokens(following="stays")
    assert replacement_for("mlm", stays) == Replacement()


@pytest.mark.parametrize("recipe", [splinter_mini, spanbert_selection_mini])
def test_what_the_recipes_learn_is_gone_on_with(recipe, nano):
    built = recipe()
    start = replace(nano, heads={name: {} for name in built.objectives}, record={"recipe": to_record(built)})
    objective = choose_objective("auto", start)
    assert masking_for(objective, start.record, whole_words=False) == built.masking
    assert replacement_for(objective, start.record) == built.replacement
    if "sbo" not in built.objectives:
        assert objectives_of(objective, start) == dict(built.objectives)


def test_the_vocabulary_gets_a_piece_for_questions_where_they_are_asked(nano):
    assert tokenizer_for("spans", nano).sha256 == Tokenizer.load(nano.folder).sha256
    asked = tokenizer_for("selection", nano)
    assert asked.roles["question"] == nano.config.vocab_size - 1 and asked.vocab_size == nano.config.vocab_size
    assert asked.encode("[QUESTION]").ids.max() < asked.vocab_size - 1


def test_a_vocabulary_without_that_piece_gets_it_behind_its_last(nano, tmp_path):
    (tmp_path / "text.txt").write_text("the wheel of the mill\n" * 200)
    words = learn_tokenizer(tmp_path / "text.txt", vocab_size=300)
    words.save(tmp_path)
    assert tokenizer_for("selection", replace(nano, tokenizer_folder=tmp_path)).roles["question"] == words.vocab_size


def test_a_tokenizer_without_room_for_that_piece_is_refused_by_name(nano, tmp_path):
    (tmp_path / "text.txt").write_text("the [QUESTION] of the mill\n" * 200)
    words = learn_tokenizer(tmp_path / "text.txt", vocab_size=300)
    words.save(tmp_path)
    record = (tmp_path / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(record.replace('"mill"', '"[QUESTION]"'))
    start = replace(nano, tokenizer_folder=tmp_path)
    with pytest.raises(CheckpointError, match=r"'selection'.*no room.*'\[QUESTION\]' for texts.*--objective spans"):
        tokenizer_for("selection", start)
    assert tokenizer_for("spans", start).vocab_size == words.vocab_size


def test_a_mask_token_is_needed_by_those_alone_who_hide_words(nano, tmp_path):
    (tmp_path / "text.txt").write_text("the old mill stood under the willows\n" * 50)
    learn_tokenizer(tmp_path / "text.txt", vocab_size=300, kind="bpe").save(tmp_path)
    start = replace(nano, tokenizer_folder=tmp_path)
    with pytest.raises(CheckpointError, match="no mask token"):
        tokenizer_for("mlm", start)
    assert "question" in tokenizer_for("selection", start).roles
    with pytest.raises(CheckpointError, match="holds no tokenizer"):
        tokenizer_for("mlm", replace(nano, tokenizer_folder=None))
