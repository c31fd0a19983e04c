"""The tagger of a name, or what is missing to make it."""

import pytest

from spanwise.errors import ConfigError
from spanwise.text.spacy_tagger import SpacyTagger
from spanwise.text.span_file_tagger import SpanFileTagger
from spanwise.text.taggers import PHRASES, find_tagger


@pytest.fixture
def spans(tmp_path):
    path = tmp_path / "spans.jsonl"
    path.write_text('{"text": "Denver won", "spans": [[0, 6]]}\n')
    return path


def test_a_file_of_spans_serves_any_name(spans):
    for name in (*PHRASES, "chemical-terms"):
        tagger = find_tagger(name, spans=spans)
        assert isinstance(tagger, SpanFileTagger) and tagger.name == name


def test_a_name_that_looks_like_a_slip_is_warned_of_and_kept(spans):
    with pytest.warns(UserWarning, match="'nounphrases', only one of your own. Did you mean 'noun-phrases'") as warned:
        assert find_tagger("nounphrases", spans=spans).name == "nounphrases"
    assert warned[0].filename == __file__


@pytest.mark.parametrize("name", PHRASES)
def test_phrases_without_a_way_to_tag_them_tell_the_command(name):
    with pytest.raises(ConfigError, match=rf"spanwise prepare TEXT .*--tag {name} --tagger .*--data STORE"):
        find_tagger(name)


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(ConfigError, match=r"nothing tags 'entitys'.*entities"):
        find_tagger("entitys")


def test_two_ways_at_once_are_refused(spans):
    for values in ({"pipeline": "en_core_web_sm"}, {"labels": ["ORG"]}):
        with pytest.raises(ConfigError, match="leave the pipeline"):
            find_tagger("entities", spans=spans, **values)


def test_a_loaded_pipeline_is_taken_as_it_is():
    from types import SimpleNamespace

    language = SimpleNamespace(meta={"lang": "ko", "name": "toy", "version": "1"})
    tagger = find_tagger("noun-phrases", pipeline=language)
    assert isinstance(tagger, SpacyTagger) and tagger.source == "spaCy ko_toy 1"


def test_morphemes_need_no_pipeline_and_take_none():
    tagger = find_tagger("morphemes")
    assert tagger.name == "morphemes" and tagger.source.startswith("kiwipiepy ")
    with pytest.raises(ConfigError, match="'morphemes' is tagged without a pipeline"):
        find_tagger("morphemes", pipeline="ko_core_news_sm")
    with pytest.raises(ConfigError, match=r"nothing tags 'morpheme'.*Did you mean 'morphemes'"):
        find_tagger("morpheme")
