"""Genres by name, and what a data set counts."""

import pytest

from spanwise.tasks.coref.conll import CoreferenceDocument
from spanwise.tasks.coref.documents import CoreferenceData, TextDocument, genre_of


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
