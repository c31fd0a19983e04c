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


def links(antecedents, mention=None):
    k = len(antecedents)
    return Links(
        start_k=np.arange(k),
        end_k=np.arange(k) + 1,
        mention_k=np.array([-1.0] * k if mention is None else mention),
        antecedent_k=np.array(antecedents, dtype=np.int64),
        chance_k=np.linspace(0, 1, k),
    )


def test_spans_that_go_back_to_one_another_are_a_cluster():
    assert clusters_of(links([-1, 0, -1, 1, 2, -1]), singletons=False) == [[0, 1, 3], [2, 4]]


def test_lone_mentions_are_clusters_on_request():
    said = links([-1, 0, -1, -1], mention=[-9.0, -9.0, 0.5, -0.5])
    assert clusters_of(said, singletons=True) == [[0, 1], [2]]
    assert clusters_of(said, singletons=False) == [[0, 1]]


@given(st.lists(st.integers(-1, 20), max_size=20))
def test_clusters_are_disjoint_and_closed_under_going_back(wanted):
    antecedents = [min(number, place - 1) for place, number in enumerate(wanted)]
    clusters = clusters_of(links(antecedents), singletons=False)
    place = {span: number for number, cluster in enumerate(clusters) for span in cluster}
    assert len(place) == sum(map(len, clusters)) and all(len(cluster) > 1 for cluster in clusters)
    for span, antecedent in enumerate(antecedents):
        if antecedent >= 0:
            assert place[span] == place[antecedent]
        else:
            assert span not in place or clusters[place[span]][0] == span


def test_the_best_antecedent_is_taken_where_its_score_is_above_that_of_none():
    scores = torch.tensor([[-torch.inf, -torch.inf], [2.0, -torch.inf], [-0.5, -0.1], [1.0, 3.0]])
    index = torch.tensor([[0, 0], [0, 0], [0, 1], [1, 2]])
    found = Antecedents(index, scores > -torch.inf, scores)
    said = best_links(Linked(torch.arange(4), torch.arange(4) + 1, torch.zeros(4), found), 3)
    assert said.antecedent_k.tolist() == [-1, 0, -1, 2] and said.num_segments == 3
    expected = np.exp(3.0) / (1 + np.exp(1.0) + np.exp(3.0))
    assert said.chance_k[3] == pytest.approx(expected) and said.chance_k[0] == 1.0


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
        chance_k=np.array([0.5, 0.75]),
    )
    (cluster,), none = decode(documents, [said, no_links()], singletons=True)
    assert [m.characters for m in cluster] == [(0, 5), (9, 14)] and none == ()
    assert [m.words for m in cluster] == [(0, 1), (2, 3)] and [m.chance for m in cluster] == [0.5, 0.75]
