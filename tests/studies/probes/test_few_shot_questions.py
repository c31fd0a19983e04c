"""Few-shot questions: a draw per seed, the same for all models of it, and articles that nothing is learned from."""

import json
from dataclasses import replace

import pytest

from spanwise.errors import DataError
from spanwise.studies.probes import FewShotQuestions
from spanwise.studies.probes.cuts import keep_articles_aside

NUM_ARTICLES, SENTENCE = 6, "The river ran past the bridge in winter."


def ids_of(path):
    articles = json.loads(path.read_text())["data"]
    return {question["id"] for article in articles for p in article["paragraphs"] for question in p["qas"]}


@pytest.fixture
def articles(tmp_path):
    """Six articles of six questions each."""
    answer = [{"text": "bridge", "answer_start": SENTENCE.find("bridge")}]
    data = [
        {
            "title": f"T{a}",
            "paragraphs": [
                {"context": SENTENCE, "qas": [{"id": f"{a}-{q}", "question": f"What {q}?", "answers": answer}]}
                for q in range(6)
            ],
        }
        for a in range(NUM_ARTICLES)
    ]
    path = tmp_path / "new_wiki.json"
    path.write_text(json.dumps({"version": "1.1", "data": data}))
    return path


@pytest.fixture
def material(context_of, articles):
    context = context_of(FewShotQuestions())
    return replace(context.material, files={"train": articles})


def test_questions_are_kept_aside_by_article_and_as_many_as_asked_for(articles, tmp_path):
    to_learn_from, aside = keep_articles_aside(articles, 8, tmp_path / "cuts")
    learned, scored = ids_of(to_learn_from), ids_of(aside)
    assert len(scored) == 8 and len(learned) == 36 - 12
    assert not {name[0] for name in learned} & {name[0] for name in scored}
    assert keep_articles_aside(articles, 8, tmp_path / "cuts") == (to_learn_from, aside)
    assert ids_of(aside) == scored


def test_a_file_in_which_nothing_would_be_left_is_refused(articles, tmp_path):
    with pytest.raises(DataError, match=r"36 questions in 6 articles; with 31 questions kept.*nothing is left"):
        keep_articles_aside(articles, 31, tmp_path)


def test_a_seed_draws_its_own_questions_of_which_small_draws_lie_in_large_ones(material):
    probe = FewShotQuestions(num_kept_aside=8)
    small, large = (ids_of(probe.training_file(material, size, 0)) for size in (4, 12))
    assert len(small) == 4 and small < large
    other = probe.training_file(material, 4, 1)
    assert ids_of(other) != small and ids_of(probe.training_file(material, 4, 0)) == small
    everything = [probe.training_file(material, None, seed) for seed in (0, 1)]
    assert everything[0] == everything[1] and len(ids_of(everything[0])) == 24


def test_all_seeds_are_scored_on_the_same_questions_and_all_is_counted(material):
    probe = FewShotQuestions(sizes=(4, None), num_kept_aside=8)
    assert len(ids_of(probe.scored_file(material))) == 8
    assert probe.examples_of(material) == {"f1_at_4": 4, "f1_at_all": 24}
    assert probe.baselines(material) == {}


def test_a_damaged_or_small_file_is_refused_before_training(material):
    with pytest.raises(DataError, match="holds 24 questions and the probe asks for 25"):
        FewShotQuestions(sizes=(25,), num_kept_aside=8).baselines(material)


def test_a_model_is_measured_after_every_size(context_of, articles, material):
    probe = FewShotQuestions(sizes=(4, None), least_steps=1, num_epochs=1, num_kept_aside=8)
    context = replace(context_of(probe), material=material)
    found = probe.measure(context)
    assert set(found) == {"f1_at_4", "exact_at_4", "f1_at_all", "exact_at_all"}
    recipe = json.loads((context.out / "few-shot-questions-4" / "recipe.json").read_text())["recipe"]
    assert recipe["hidden_dropout"] == 0.0 and recipe["training"]["seed"] == context.seed
    assert recipe["task"]["shared_words"] == "marked"  # not "auto", which leaves random weights without
