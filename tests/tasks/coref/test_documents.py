"""Genres by name, and what a data set counts."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import DataError
from spanwise.tasks.coref.documents import (
    CoreferenceData,
    CoreferenceDocument,
    TextDocument,
    genre_of,
    read_conll,
    write_conll,
)


@pytest.mark.parametrize(
    ("name", "genre"),
    [
        ("(nw/wsj/00/wsj_0001); part 000", "nw"),
        ("bc/cnn/00/cnn_0000_0", "bc"),
        ("(GUM_academic_exposure); part 000", "academic"),
        ("(110_tess_of_the_durbervilles); part 0", "none"),
        ("GUM_x", "none"),
        ("/x", "none"),
        ("", "none"),
    ],
)
def test_a_genre_is_read_off_the_name_and_is_otherwise_none(name, genre):
    assert genre_of(TextDocument(name=name, text="")) == genre


def test_clusters_of_one_mention_are_counted():
    words = CoreferenceDocument(
        name="a",
        words=("x", "y"),
        sentence_borders=(0, 2),
        speakers=("", ""),
        clusters=(((0, 1),), ((0, 2), (1, 2))),
    )
    data = CoreferenceData(source="s", documents=(words, TextDocument(name="b", text="x")))
    assert (data.num_clusters, data.num_singletons, data.has_singletons) == (2, 1, True) and not data.has_words


def test_a_handful_of_lone_mentions_among_many_clusters_are_no_annotation():
    pairs = [((2 * k, 2 * k + 1), (2 * k + 1, 2 * k + 2)) for k in range(10)]
    values = {"name": "a", "words": ("x",) * 21, "sentence_borders": (0, 21), "speakers": ("",) * 21}
    document = CoreferenceDocument(**values, clusters=(*pairs, ((20, 21),)))
    assert not CoreferenceData(source="s", documents=(document,)).has_singletons
    assert not CoreferenceData(source="s", documents=()).has_singletons


V4 = """#begin document (nw/a/01); part 000
nw/a/01 0 0 Mary NNP (TOP* - - - Anna * (0)
nw/a/01 0 1 and CC * - - - Anna * -
nw/a/01 0 2 her PRP * - - - Anna * (1|(0)
nw/a/01 0 3 dog NN *) - - - Anna * 1)

nw/a/01 0 0 It PRP * - - - Bert * (1)
#end document
#begin document (nw/a/01); part 001
nw/a/01 1 0 Nothing NN * - - - - * -
#end document
"""


def written(tmp_path, text: str, name: str = "a.conll"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_words_sentences_speakers_and_clusters_are_read(tmp_path):
    first, second = read_conll(written(tmp_path, V4))

    assert first.name == "(nw/a/01); part 000"
    assert first.words == ("Mary", "and", "her", "dog", "It")
    assert first.sentence_borders == (0, 4, 5)
    assert first.speakers == ("Anna", "Anna", "Anna", "Anna", "Bert")
    assert first.clusters == (((0, 1), (2, 3)), ((2, 4), (4, 5)))
    assert second.clusters == ()
    assert second.speakers == ("",)


def test_an_empty_last_column_after_a_tab_is_no_mention(tmp_path):
    row = "b\t0\t{}\t{}" + 8 * "\t_" + "\t{}\n"
    text = "#begin document (b); part 0\n" + row.format(0, "CHAPTER", "") + row.format(1, "London", "(1)")

    (document,) = read_conll(written(tmp_path, text))  # without '#end document' too

    assert document.words == ("CHAPTER", "London")
    assert document.clusters == (((1, 2),),)


def test_packed_files_byte_order_marks_and_carriage_returns_change_nothing(tmp_path):
    plain = read_conll(written(tmp_path, V4))
    packed = tmp_path / "b.conll.gz"
    packed.write_bytes(gzip.compress(("\ufeff" + V4.replace("\n", "\r\n")).encode()))

    assert [d.words for d in read_conll(packed)] == [d.words for d in plain]
    assert [d.clusters for d in read_conll(packed)] == [d.clusters for d in plain]


def test_nested_mentions_of_one_cluster_close_innermost_first(tmp_path):
    text = "#begin document (c)\nc 0 0 a (0\nc 0 1 b (0\nc 0 2 c 0)\nc 0 3 d 0)\n#end document\n"

    (document,) = read_conll(written(tmp_path, text))

    assert document.clusters == (((0, 4), (1, 3)),)


@pytest.mark.parametrize(
    ("marks", "clusters"),
    [
        (("(1(1", "1)", "1)"), (((0, 2), (0, 3)),)),
        (("(1", "(1", "1)1)"), (((0, 3), (1, 3)),)),
        (("(0(1", "1)", "0)"), (((0, 3),), ((0, 2),))),
        (("(12(3)", "-", "12)(3)"), (((0, 1), (2, 3)), ((0, 3),))),
        (("(1(1", "-", "1)1)"), (((0, 3), (0, 3)),)),  # named twice
        (("(1", "1)|(1", "1)"), (((0, 3), (1, 2)),)),  # what begins at a word goes before what ends there
    ],
)
def test_brackets_side_by_side_are_read_as_the_reference_scorer_does(tmp_path, marks, clusters):
    rows = "".join(f"d\t0\t{place}\tw\t{mark}\n" for place, mark in enumerate(marks))

    (document,) = read_conll(written(tmp_path, f"#begin document (d); part 0\n{rows}#end document\n"))

    assert document.clusters == clusters


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no line '#begin document"),
        ("a 0 0 x -\n", "line 1 stands outside a document"),
        ("#begin document (a)\na 0 0 x (1\n#end document\n", "line 2: cluster 1 is opened and not closed"),
        ("#begin document (a)\na 0 0 x 1)\n#end document\n", "line 2: cluster 1 is closed and was not opened"),
        ("#begin document (a)\na 0 0 x 17\n#end document\n", "line 2: coreference '17' can't be read"),
        ("#begin document (a)\na 0 0 x ()\n#end document\n", "line 2: coreference '\\(\\)' can't be read"),
        (
            "#begin document (a)\na 0 0 x (1)7\n#end document\n",
            "coreference '7' can't be read .the column holds '.1.7'",
        ),
        ("#begin document (a)\nx\n#end document\n", "line 2 has one column"),
        (
            "#begin document (a)\n#end document\n#begin document (a)\n#end document\n",
            "line 3: document '\\(a\\)' came before",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, said):
    with pytest.raises(DataError, match=said):
        read_conll(written(tmp_path, text))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(0, 3)), max_size=8))
def test_what_is_written_is_read_again(tmp_path_factory, drawn):
    groups: dict[int, set[tuple[int, int]]] = {}
    for first, length, cluster in drawn:
        groups.setdefault(cluster, set()).add((first, min(first + length, 12)))
    clusters = [tuple(sorted(mentions)) for mentions in groups.values()]
    if any(a[0] < b[0] < a[1] < b[1] for cluster in clusters for a in cluster for b in cluster):
        return  # mentions of one cluster that cross can't be told from nested ones in this format
    document = CoreferenceDocument(
        name="(x/y); part 003",
        words=tuple("abcdefghijkl"),
        sentence_borders=(0, 5, 12),
        speakers=("",) * 12,
        clusters=tuple(clusters),
    )

    (found,) = read_conll(written(tmp_path_factory.mktemp("conll"), write_conll([document])))

    assert (found.words, found.sentence_borders, found.name) == (
        document.words,
        document.sentence_borders,
        document.name,
    )
    assert set(found.clusters) == set(document.clusters)
