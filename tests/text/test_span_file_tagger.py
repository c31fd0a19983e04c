"""Spans of characters from a file, in the shapes that annotation tools write."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.text.corpus import CorpusOptions
from spanwise.text.span_file_tagger import SpanFileTagger


def write(path, *records):
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n", encoding="utf-8")
    return path


def tags(tagger, tokenizer, *texts):
    return [found.tolist() for found in tagger.tag(texts, tokenizer.encode_batch(texts))]


def test_each_shape_of_a_span_tags_the_same_tokens(tokenizer, tmp_path):
    text = "Denver won"
    shapes = [[[0, 6]], [[0, 6, "ORG"]], [{"start": 0, "end": 6, "label": "ORG"}]]
    for number, spans in enumerate(shapes):
        tagger = SpanFileTagger("entities", write(tmp_path / f"{number}.jsonl", {"text": text, "spans": spans}))
        (found,) = tags(tagger, tokenizer, text)
        pieces = tokenizer.tokens(tokenizer.encode(text).ids)
        assert [tag > 0 for tag in found] == [piece != "won" for piece in pieces] and found[0] == 1


def test_sentences_are_found_in_any_order_and_others_have_no_phrase(tokenizer, tmp_path):
    first, second = {"text": "Denver won", "spans": [[0, 6]]}, {"text": " the US Mint ", "spans": [[5, 12]]}
    tagger = SpanFileTagger("entities", write(tmp_path / "spans.jsonl", first, second))
    found = tags(tagger, tokenizer, "the US Mint", "so it does not", "  Denver won")
    assert found[0][0] == 0 and found[0][1] == 1 and set(found[0][2:]) == {2}
    assert set(found[1]) == {0} and found[2][0] == 1
    assert tagger.num_unmet == 0


def test_lines_that_no_text_has_are_counted(tokenizer, tmp_path):
    tagger = SpanFileTagger("entities", write(tmp_path / "s.jsonl", *[{"text": t, "spans": []} for t in "abc"]))
    tags(tagger, tokenizer, "b")
    assert tagger.num_unmet == 2


def test_the_source_names_the_file_and_its_content(tmp_path):
    first = SpanFileTagger("terms", write(tmp_path / "s.jsonl", {"text": "a", "spans": []}))
    again = SpanFileTagger("terms", tmp_path / "s.jsonl")
    other = SpanFileTagger("terms", write(tmp_path / "s.jsonl", {"text": "b", "spans": []}))
    assert first.source == again.source != other.source
    assert first.name == "terms" and "s.jsonl" in first.source


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "is not JSON"),
        ("[1]", "no 'text'"),
        ('{"text": "a"}', "no 'text' with a list of 'spans'"),
        ('{"text": "Denver", "spans": [[0]]}', "is no span"),
        ('{"text": "Denver", "spans": [[0, "6"]]}', "is no span"),
        ('{"text": "Denver", "spans": [{"begin": 0}]}', "is no span"),
        ('{"text": "Denver", "spans": [[0, 7]]}', "does not lie in its text"),
        ('{"text": "Denver", "spans": [[3, 3]]}', "does not lie in its text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, named):
    (tmp_path / "s.jsonl").write_text('{"text": "fine", "spans": []}\n' + line + "\n")
    with pytest.raises(DataError, match=rf"s\.jsonl line 2.*{named}"):
        SpanFileTagger("entities", tmp_path / "s.jsonl")


def test_a_file_that_is_missing_or_empty_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.jsonl does not exist"):
        SpanFileTagger("entities", tmp_path / "none.jsonl")
    (tmp_path / "s.jsonl").write_text("\n")
    with pytest.raises(DataError, match="holds no sentence"):
        SpanFileTagger("entities", tmp_path / "s.jsonl")


def test_a_record_of_a_paragraph_tags_each_of_its_sentences(tokenizer, tmp_path):
    text = " Denver won. It was the US Mint.\nDenver is old. "
    spans = [[1, 7], [text.index("the"), text.index("Mint") + 4], [text.rindex("Denver"), text.rindex("Denver") + 6]]
    tagger = SpanFileTagger("entities", write(tmp_path / "s.jsonl", {"text": text, "spans": spans}))
    sentences = ["Denver won.", "It was the US Mint.", "Denver is old."]
    alone = SpanFileTagger(
        "entities",
        write(tmp_path / "alone.jsonl", *[
            {"text": sentence, "spans": [[start, end]]}
            for sentence, (start, end) in zip(sentences, [(0, 6), (7, 18), (0, 6)], strict=True)
        ]),
    )  # fmt: skip
    assert tags(tagger, tokenizer, *sentences[:2]) == tags(alone, tokenizer, *sentences[:2])
    assert tagger.num_unmet == 1  # a sentence of it is still to come
    assert tags(tagger, tokenizer, sentences[2]) == tags(alone, tokenizer, sentences[2])
    assert tagger.num_unmet == tagger.num_crossing == 0


def test_a_span_across_two_sentences_is_left_out_and_counted_where_they_were_met_apart(tokenizer, tmp_path):
    text = "We saw Denver. Won it was. Old it is."
    record = {"text": text, "spans": [[7, 18], [27, 30]]}
    apart, whole = (SpanFileTagger("entities", write(tmp_path / "s.jsonl", record)) for _ in range(2))
    found = tags(apart, tokenizer, "We saw Denver.", "Won it was.", "Old it is.")
    assert [max(one) > 0 for one in found] == [False, False, True]
    assert (apart.num_crossing, apart.num_unmet) == (1, 0)
    (found,) = tags(whole, tokenizer, text)
    assert found.count(1) == 2 and (whole.num_crossing, whole.num_unmet) == (0, 0)


def test_a_record_of_the_very_sentence_goes_before_one_that_holds_it(tokenizer, tmp_path):
    exact, holder = {"text": "Denver won.", "spans": [[0, 6]]}, {"text": "Denver won. It was old.", "spans": []}
    for number, records in enumerate([(exact, holder), (holder, exact)]):
        tagger = SpanFileTagger("entities", write(tmp_path / f"{number}.jsonl", *records))
        assert tags(tagger, tokenizer, "Denver won.")[0][0] == 1


def test_records_are_split_as_the_corpus_is(tokenizer, tmp_path):
    record = {"text": "Denver won. It was old.\nDenver is.", "spans": [[0, 6]]}
    tagger = SpanFileTagger("entities", write(tmp_path / "s.jsonl", record), CorpusOptions(lines="sentences"))
    assert [max(one) for one in tags(tagger, tokenizer, "Denver won. It was old.", "Denver won.")] == [1, 0]
