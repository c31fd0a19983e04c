"""The tagger of a name, or what is missing to make it."""

import sys
from types import SimpleNamespace

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.text.span_file_tagger import SpanFileTagger
from spanwise.text.taggers import NUMERICAL, PHRASES, SpacyTagger, find_tagger

TEXT = "Denver won 24 games in Carolina."
ENTITIES = [(0, 6, "GPE"), (11, 13, "CARDINAL"), (23, 31, "ORG")]


class Document:
    """The part of a spaCy document that is read."""

    def __init__(self, spans=(), is_tagged=True, chunks=()):
        self.ents = [SimpleNamespace(start_char=start, end_char=end, label_=label) for start, end, label in spans]
        self.chunks, self.is_tagged = chunks, is_tagged

    def __len__(self):
        return 7

    def has_annotation(self, name):
        return self.is_tagged and name == "ENT_IOB"

    @property
    def noun_chunks(self):
        if self.chunks is None:
            raise ValueError("[E029] `noun_chunks` requires the dependency parse")
        return [SimpleNamespace(start_char=start, end_char=end) for start, end in self.chunks]


def pipeline_of(document):
    return SimpleNamespace(
        meta={"lang": "en", "name": "toy", "version": "1.2"},
        pipe=lambda texts: (document for _ in texts),
        pipeline=[("names", SimpleNamespace(__module__="spacy.pipeline.ner"))],
        pipe_factories={"names": "ner"},
        pipe_labels={"names": ["CARDINAL", "GPE", "ORG"]},
    )


def tagged_words(tagger, tokenizer, text=TEXT):
    encoding = tokenizer.encode(text)
    (found,) = tagger.tag([text], [encoding])
    return [text[start:end] for (start, end), tag in zip(encoding.offsets, found, strict=True) if tag]


def test_numerical_entities_are_left_out_unless_labels_are_given(tokenizer):
    """Section 5.1 of SpanBERT: "non-numerical" types alone."""
    pipeline = pipeline_of(Document(ENTITIES))
    assert "".join(tagged_words(SpacyTagger("entities", pipeline), tokenizer)) == "DenverCarolina"
    assert tagged_words(SpacyTagger("entities", pipeline, labels=["CARDINAL"]), tokenizer) == ["24"]
    assert {"DATE", "MONEY", "CARDINAL"} <= NUMERICAL


def test_types_that_a_pipeline_does_not_have_are_refused():
    """Each of them would match nothing, and the whole store would have no phrase."""
    pipeline = pipeline_of(Document(ENTITIES))
    with pytest.raises(ConfigError, match=r"en_toy 1.2 .* type 'ORGG'; .* CARDINAL, GPE, ORG\. .*Did you mean 'ORG'"):
        SpacyTagger("entities", pipeline, labels=["GPE", "ORGG"])
    with pytest.raises(ConfigError, match=r"'GPE,ORG'.*Name each type on its own"):
        find_tagger("entities", pipeline=pipeline, labels=["GPE,ORG"])
    pipeline.pipeline.append(("own", Document()))  # it may find entities of any type
    SpacyTagger("entities", pipeline, labels=["ORGG"])


def test_the_source_names_pipeline_and_version():
    tagger = SpacyTagger("noun-phrases", pipeline_of(Document()))
    assert tagger.name == "noun-phrases" and tagger.source == "spaCy en_toy 1.2"


def test_noun_phrases_are_the_chunks(tokenizer):
    assert tagged_words(SpacyTagger("noun-phrases", pipeline_of(Document(chunks=[(11, 19)]))), tokenizer)[0] == "24"


def test_pipelines_that_cannot_tell_are_refused(tokenizer):
    with pytest.raises(DataError, match="marks no entities"):
        tagged_words(SpacyTagger("entities", pipeline_of(Document(is_tagged=False))), tokenizer)
    with pytest.raises(DataError, match="finds no noun phrases"):
        tagged_words(SpacyTagger("noun-phrases", pipeline_of(Document(chunks=None))), tokenizer)
    with pytest.raises(ConfigError, match="no labels"):
        SpacyTagger("noun-phrases", pipeline_of(Document()), labels=["ORG"])


def test_without_spacy_the_way_to_it_and_around_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)  # as an import sees a package that is not there
    with pytest.raises(ConfigError, match=r"spanwise\[spacy\].*--tags FILE"):
        SpacyTagger("entities", "en_core_web_sm")


@pytest.mark.slow
def test_a_real_pipeline_tags_entities_and_noun_phrases(tokenizer):
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc

    kinds = {"the": "DET", "old": "ADJ", "river": "NOUN", "Denver": "PROPN", "passed": "VERB", ".": "PUNCT"}

    @Language.component("toy_parser")
    def parse(document):
        """Heads and relations of "Denver passed the old river ." by hand: no trained parser is needed."""
        words = [token.text for token in document]
        verb, noun = words.index("passed"), words.index("river")
        heads = [noun if kinds[word] in ("DET", "ADJ") else verb for word in words]
        names = {"DET": "det", "ADJ": "amod", "NOUN": "dobj", "PROPN": "nsubj", "VERB": "ROOT", "PUNCT": "punct"}
        return Doc(
            document.vocab,
            words=words,
            spaces=[bool(token.whitespace_) for token in document],
            heads=heads,
            deps=[names[kinds[word]] for word in words],
            pos=[kinds[word] for word in words],
        )

    text = "Denver passed the old river."
    parsing = spacy.blank("en")
    parsing.add_pipe("toy_parser")
    assert tagged_text(SpacyTagger("noun-phrases", parsing), tokenizer, text) == ["Denver", "the old river"]

    ruling = spacy.blank("en")
    ruler = ruling.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Denver"}, {"label": "DATE", "pattern": "old"}])
    assert tagged_text(SpacyTagger("entities", ruling), tokenizer, text) == ["Denver"]
    assert tagged_text(SpacyTagger("entities", ruling, labels=["DATE"]), tokenizer, text) == ["old"]

    blank = spacy.blank("en")
    for kind, named in (("entities", "marks no entities"), ("noun-phrases", "finds no noun phrases")):
        with pytest.raises(DataError, match=named):
            tagged_text(SpacyTagger(kind, blank), tokenizer, text)
    ruled = spacy.blank("en")
    ruled.add_pipe("entity_ruler").add_patterns([{"label": "TOWN", "pattern": "Denver"}])
    assert tagged_text(SpacyTagger("entities", ruled, labels=["TOWN"]), tokenizer, text) == ["Denver"]
    with pytest.raises(ConfigError, match="its types are TOWN"):
        SpacyTagger("entities", ruled, labels=["PERSON"])
    with pytest.raises(ConfigError, match="no pipeline 'en_no_such'"):
        SpacyTagger("entities", "en_no_such")


def tagged_text(tagger, tokenizer, text):
    """The phrases as text, by their tags: one begins at a 1."""
    encoding = tokenizer.encode(text)
    (found,) = tagger.tag([text], [encoding])
    phrases = []
    for (start, end), tag in zip(encoding.offsets.tolist(), found.tolist(), strict=True):
        if tag == 1:
            phrases.append([start, end])
        elif tag == 2:
            phrases[-1][1] = end
    return [text[start:end] for start, end in phrases]


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
