"""A study whose arms differ in what they must share is refused before a file is opened, in words that name them."""

from dataclasses import replace

import pytest
from toy_studies import toy_recipe, toy_study

from spanwise.errors import ConfigError
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.objectives import MaskedLM
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.study import arm_difference, changed_study, check_study, seeded


def with_arm(**parts):
    """The toy study whose arm `sbo` has other parts."""
    return toy_study(arms={"mlm": toy_recipe("mlm", objectives={"mlm": MaskedLM()}), "sbo": toy_recipe(**parts)})


def trained(**values):
    return {"training": replace(toy_recipe().training, **values)}


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (lambda: toy_study(arms={"only": toy_recipe()}), "two arms.*only 'only'"),
        (lambda: toy_study(arms={"a": toy_recipe("a"), "b": toy_recipe("b")}), "'a' and 'b' are the same recipe"),
        (lambda: with_arm(**trained(max_tokens=4_000)), "'mlm' and 'sbo' differ in training.max_tokens.*3000 and 4000"),
        (lambda: with_arm(**trained(max_tokens=None, max_steps=9)), "arm 'sbo' has training.max_steps=9"),
        (lambda: with_arm(**trained(seed=3)), "'mlm' and 'sbo' differ in training.seed \\(0 and 3\\)"),
        (
            lambda: with_arm(tokenizer=replace(toy_recipe().tokenizer, vocab_size=500)),
            "differ in tokenizer \\(vocab_size: 8000 and 500\\)",
        ),
        (lambda: toy_study(tokens=10, compute=1e9), "2 budgets, tokens and compute"),
        (lambda: toy_study(tokens=10, seconds=1.0), "2 budgets, tokens and seconds"),
        (lambda: toy_study(tokens=0), "Study.tokens cannot be 0; expected above 0"),
        (lambda: toy_study(seconds=0.0), "Study.seconds cannot be 0.0; expected above 0"),
        (lambda: toy_study(seconds="1h"), "seconds cannot be '1h'; expected a valid number"),
        (lambda: toy_study(tokens={"mlm": 10}), "tokens are given for mlm, the arms are mlm, sbo"),
        (lambda: toy_study(tokens={"mlm": 10, "sbo": 0}), "tokens.sbo cannot be 0; expected above 0"),
        (lambda: toy_study(probes=("minimal-pear",)), "no probe 'minimal-pear'.*minimal-pairs"),
        (lambda: toy_study(probes=("chunks", "chunks")), "'chunks' twice"),
        (lambda: toy_study(probes=()), "no probe; name one"),
        (lambda: toy_study(probes="chunks"), "probes cannot be 'chunks'; expected a valid tuple"),
        (lambda: toy_study(probes=(MaskedTokens,)), "MaskedTokens is a class; write MaskedTokens\\(\\)"),
        (lambda: toy_study(arms=[toy_recipe()]), "arms cannot be .{1,210}; expected a valid dictionary"),
        (lambda: toy_study(arms={1: toy_recipe(), "b": toy_recipe()}), "arms.1 cannot be 1; expected a valid string"),
        (lambda: toy_study(tokens=True), "tokens cannot be True; expected a valid integer"),
        (lambda: toy_study(tokens=3000.5), "tokens cannot be 3000.5"),
        (lambda: toy_study(compute=float("inf")), "compute cannot be inf"),
        (lambda: toy_study(compute=True), "compute cannot be True; expected a valid number"),
        (
            lambda: replace(with_arm(length_warmup=LengthWarmup(steps=2, max_length=16)), tokens=None, compute=1e9),
            "arm 'sbo' has a length warm-up",
        ),
        (
            lambda: replace(with_arm(length_warmup=LengthWarmup(steps=2, max_length=16)), tokens=None, seconds=9.0),
            "length warm-up.*in place of seconds",
        ),
        (lambda: toy_study(question=None), "question cannot be None"),
        (lambda: toy_study(notes="a note"), "notes cannot be 'a note'; expected a valid tuple"),
        (lambda: toy_study(control="random"), "control cannot be 'random'; expected 'random weights' or 'none'"),
        (lambda: toy_study(arms={"a b": toy_recipe(), "c": toy_recipe()}), "can't be called 'a b'"),
        (lambda: toy_study(arms={"control": toy_recipe(), "c": toy_recipe()}), "can't be called 'control'"),
        (
            lambda: with_arm(format=replace(toy_recipe().format, max_length=128)),
            "arm 'sbo': format.max_length 128 is longer",
        ),
    ],
)
def test_a_study_that_would_not_answer_its_question_is_refused(study, words):
    with pytest.raises(ConfigError, match=words):
        check_study(study())


def test_arms_of_other_lengths_are_welcome_where_the_study_has_a_budget_of_its_own():
    check_study(replace(with_arm(**trained(max_tokens=4_000)), tokens=5_000))
    check_study(replace(with_arm(**trained(max_tokens=None, max_steps=9)), compute=1e9))


def test_a_change_reaches_every_arm_and_a_number_of_tokens_takes_the_place_of_compute():
    study = changed_study(
        toy_study(compute=1e9), tokens=70, overrides=["training.learning_rate=0.5"], probes=["chunks", "masked-tokens"]
    )
    assert (study.tokens, study.compute) == (70, None)
    timed = changed_study(study, seconds=60.0)
    assert (timed.tokens, timed.compute, timed.seconds) == (None, None, 60.0)
    assert changed_study(timed, tokens=9).seconds is None
    with pytest.raises(ConfigError, match="--tokens and --budget"):
        changed_study(study, tokens=9, seconds=60.0)
    assert {recipe.training.learning_rate for recipe in study.arms.values()} == {0.5}
    assert [probe.name for probe in study.found_probes] == ["chunks", "masked-tokens"]
    assert study.found_probes[1].max_tokens == 600  # the study's own values, where it names the probe
    assert seeded(study.arms["sbo"], tokens=70, seed=2).training.length == ("max_tokens", 70)


@pytest.mark.parametrize(
    ("change", "words"),
    [("training.seed=3", "seeds 0, 1"), ("training.max_tokens=9", "--tokens"), ("training.budget=9", "--tokens")],
)
def test_what_a_study_decides_itself_is_not_set_otherwise(change, words):
    with pytest.raises(ConfigError, match=f"--set {change}: .*{words}"):
        changed_study(toy_study(), overrides=[change])


def test_a_part_that_is_another_one_is_told_without_its_values():
    mlm, sbo = toy_study().arms.values()
    assert arm_difference(mlm, sbo) == [("objectives.sbo", "(not set)", "span_boundary")]
    other = replace(mlm, masking=replace(mlm.masking, p=0.5))
    assert arm_difference(mlm, other) == [("masking.p", 0.2, 0.5)]
