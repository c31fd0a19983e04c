"""Clusters from antecedents."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.coreference.antecedents import Antecedents
from spanwise.nn.coreference.head import Linked
from spanwise.tasks.coref.decode import Links, best_links, clusters_of, decode, no_links
from spanwise.tasks.coref.documents import TextDocument
from spanwise.tasks.coref.pieces import cut_documents


def grouped(antecedents, mention=None, *, singletons=False):
    mention_k = np.array([-1.0] * len(antecedents) if mention is None else mention)
    return clusters_of(mention_k, np.array(antecedents, dtype=np.int64), singletons=singletons)


def test_spans_that_go_back_to_one_another_are_a_cluster():
    assert grouped([-1, 0, -1, 1, 2, -1]) == [[0, 1, 3], [2, 4]]


def test_lone_mentions_are_clusters_on_request():
    said = [-1, 0, -1, -1], [-9.0, -9.0, 0.5, -0.5]
    assert grouped(*said, singletons=True) == [[0, 1], [2]]
    assert grouped(*said, singletons=False) == [[0, 1]]


@given(st.lists(st.integers(-1, 20), max_size=20))
def test_clusters_are_disjoint_and_closed_under_going_back(wanted):
    antecedents = [min(number, place - 1) for place, number in enumerate(wanted)]
    clusters = grouped(antecedents)
    place = {span: number for number, cluster in enumerate(clusters) for span in cluster}
    assert len(place) == sum(map(len, clusters)) and all(len(cluster) > 1 for cluster in clusters)
    for span, antecedent in enumerate(antecedents):
        if antecedent >= 0:
            assert place[span] == place[antecedent]
        else:
            assert span not in place or clusters[place[span]][0] == span


def scored(*rows) -> Links:
    """What a head with these scores of each span's antecedents says; of row n the first n are earlier spans."""
    scores = torch.full((len(rows), len(rows)), -torch.inf)
    for row, found in enumerate(rows):
        scores[row, : len(found)] = torch.tensor(found)
    index = torch.arange(len(rows)).expand(len(rows), -1)
    place = torch.arange(len(rows))
    found = Antecedents(index, scores > -torch.inf, scores)
    return best_links(Linked(place, place + 1, torch.zeros(len(rows)), found), 3)


def test_the_best_antecedent_is_taken_where_its_score_is_above_that_of_none():
    said = scored([], [2.0], [-0.5, -0.1], [-2.0, 1.0, 3.0])
    antecedents, chances = said.decided(0.0)
    assert antecedents.tolist() == [-1, 0, -1, 2] and said.num_segments == 3
    assert chances[3] == pytest.approx(np.exp(3.0) / (1 + np.exp(-2.0) + np.exp(1.0) + np.exp(3.0)))
    assert chances[2] == pytest.approx(1 / (1 + np.exp(-0.5) + np.exp(-0.1)))
    assert chances[0] == 1.0


def test_a_threshold_is_the_score_of_none():
    said = scored([], [2.0], [-0.5, -0.1], [-2.0, 1.0, 3.0])
    below, chances = said.decided(-0.25)
    assert below.tolist() == [-1, 0, 1, 2]
    assert chances[2] == pytest.approx(np.exp(-0.1) / (np.exp(-0.25) + np.exp(-0.5) + np.exp(-0.1)))
    assert said.decided(2.0)[0].tolist() == [-1, -1, -1, 2]  # as high is not higher
    assert said.decided(-1e9)[0][0] == -1  # the first span has no antecedent, however low the threshold


def test_mentions_are_words_and_characters_of_the_document(tokenizer):
    documents = cut_documents(
        [TextDocument(name="t", text="Seoul 한강 Seoul"), TextDocument(name="e", text="")], tokenizer
    )
    last = len(documents[0])
    said = Links(
        start_k=np.array([0, last - 1]),
        end_k=np.array([1, last]),
        mention_k=np.zeros(2),
        antecedent_k=np.array([-1, 0]),
        score_k=np.array([-np.inf, 0.0]),
        total_k=np.array([-np.inf, 0.0]),
    )
    (cluster,), none = decode(documents, [said, no_links()], threshold=-1.0, singletons=True)
    assert [m.characters for m in cluster] == [(0, 5), (9, 14)] and none == ()
    assert [m.words for m in cluster] == [(0, 1), (2, 3)]
    assert [m.chance for m in cluster] == pytest.approx([1.0, 1 / (1 + np.exp(-1.0))])
    assert decode(documents, [said, no_links()], threshold=0.0, singletons=True) == ((), ())
