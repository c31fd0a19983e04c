"""Korean recipes: morphemes as words, a vocabulary cut at them, and all values in the recipe."""

from dataclasses import replace

import numpy as np
import pytest

from spanwise import recipes
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.describe import data_path
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import check_inputs, training_source
from spanwise.text import morphemes
from spanwise.text.corpus import CorpusOptions
from spanwise.text.learn import learn_tokenizer
from spanwise.text.morphemes import MorphemeTagger

TEXT = "학교에서는 공부를 했다. 친구들은 서울에서 기차를 탔다. 어머니께서 사과를 주셨다.\n"
NAMES = ["spanbert-ko-tiny", "spanbert-ko-mini", "spanbert-ko-small", "spanbert-ko-base"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("korean") / "text.txt"
    path.write_text("\n".join([TEXT * 3] * 20), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_every_size_has_morphemes_32_rows_and_a_vocabulary_of_its_own(name):
    korean, english = recipes.find(name), recipes.find(name.replace("-ko", ""))
    assert korean.word_unit == "morpheme" and korean.objectives["sbo"].num_positions == 32
    assert (korean.tokenizer.unicode_form, korean.tokenizer.boundaries) == ("NFC", "morphemes")
    assert (korean.encoder, korean.masking, korean.batch) == (english.encoder, english.masking, english.batch)
    assert any("morphemes" in line for line in korean.differences)


def test_the_data_path_says_what_is_korean_and_says_nothing_of_it_elsewhere():
    korean, english = (data_path(recipes.find(name), 8_000) for name in ("spanbert-ko-tiny", "spanbert-tiny"))
    assert korean[0] == "text -> wordpiece, cased, NFC, 8,000 pieces cut at morphemes -> token store"
    assert "words are morphemes" in korean[2] and "morpheme" not in "".join(english) and "NFC" not in english[0]


def small(recipe):
    shape = replace(recipe.encoder, hidden_size=16, num_layers=1, num_heads=2, intermediate_size=32, max_positions=64)
    return replace(
        recipe,
        encoder=shape,
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
        tokenizer=replace(recipe.tokenizer, vocab_size=300),
        training=replace(recipe.training, max_tokens=None, max_steps=2, eval_every=None),
    )


def test_spans_begin_and_end_where_morphemes_do(text, tmp_path):
    options = CorpusOptions(language="ko")
    tokenizer = learn_tokenizer(text, vocab_size=300, boundaries="morphemes", options=options)
    prepare(text, tokenizer, tmp_path / "store", options, taggers=[MorphemeTagger()])
    store = TokenStore.open(tmp_path / "store")
    recipe = small(recipes.spanbert_ko_tiny())
    check_inputs(recipe, store)
    starts = {}
    for unit in ("morpheme", "word"):
        (masked,) = training_source(replace(recipe, word_unit=unit), store).masked_step(0)[:1]
        first = masked.pack.input_ids[masked.spans.start]
        starts[unit] = [piece.startswith("##") for piece in tokenizer.tokens(first)]
        assert masked.pack.starts_word[masked.spans.start].all()
    assert any(starts["morpheme"]) and not any(starts["word"])


def test_a_run_from_text_tags_it_and_a_store_without_tags_is_refused_with_the_cure(text, tmp_path, monkeypatch):
    recipe = small(recipes.spanbert_ko_tiny())
    pretrain(recipe, text=text, out=tmp_path / "run", corpus=CorpusOptions(language="ko"))
    store = TokenStore.open(tmp_path / "run" / "store")
    assert store.side_arrays["morphemes"].startswith("kiwipiepy")
    everything = np.zeros(1, np.int64), np.array([store.num_tokens])
    assert store.gather_side("morphemes", *everything).any()

    prepare(text, store.tokenizer(), tmp_path / "plain", CorpusOptions(language="ko"))
    with pytest.raises(DataError, match="prepare --tag morphemes"):
        pretrain(recipe, data=tmp_path / "plain", out=tmp_path / "refused")

    def missing():
        raise ConfigError("not installed")

    monkeypatch.setattr(morphemes, "_kiwi", missing)  # training from the tagged store asks for no analyser
    again = pretrain(recipe, data=tmp_path / "run" / "store", out=tmp_path / "again")
    assert again.steps == 2
