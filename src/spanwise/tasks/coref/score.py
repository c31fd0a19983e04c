"""The metrics of coreference, as the reference scorer (version 8.01) counts them.

Every metric is four sums: numerator and denominator of recall and of precision. Documents are added up before anything
is divided, so long documents weigh more. A mention is a place (two integers); clusters hold mentions. A mention that a
response names again, in the same cluster or in a later one, counts where it first stood.

Letters: K clusters of the key, R clusters of the response.

Source: Pradhan et al. 2014 (the reference implementation for predicted mentions): MUC (Vilain et al. 1995), B-cubed
(Bagga and Baldwin 1998), CEAF (Luo 2005), BLANC (Luo et al. 2014); LEA (Moosavi and Strube 2016).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from scipy.optimize import linear_sum_assignment

Mention = tuple[int, int]
Clusters = Sequence[Sequence[Mention]]


@dataclass
class _Sums:
    """Numerators and denominators of recall and precision over the documents seen so far."""

    right_of_key: float = 0.0
    key: float = 0.0
    right_of_response: float = 0.0
    response: float = 0.0

    def add(self, right_of_key: float, key: float, right_of_response: float, response: float) -> None:
        self.right_of_key += right_of_key
        self.key += key
        self.right_of_response += right_of_response
        self.response += response

    def scores(self) -> dict[str, float]:
        return _scores(_ratio(self.right_of_key, self.key), _ratio(self.right_of_response, self.response))


@dataclass
class CoreferenceScorer:
    """Add documents, then read `scores()`: `muc`, `b_cubed`, `ceaf_m`, `ceaf_e`, `lea`, `blanc` with `recall`,
    `precision` and `f1` from 0 to 100, `mentions` (how many were found), and `conll_f1`, the mean F1 of MUC, B-cubed
    and entity CEAF."""

    num_documents: int = 0
    num_repeated: int = 0  # mentions that responses named more than once
    _sums: dict[str, _Sums] = field(default_factory=lambda: {name: _Sums() for name in _METRICS})
    _links: Counter[str] = field(default_factory=Counter)

    def add(self, key: Clusters, response: Clusters) -> None:
        """Compare the clusters of one document."""
        self.num_documents += 1
        key_sets = _without_repeats(key)[0]
        response_sets, num_repeated = _without_repeats(response)
        self.num_repeated += num_repeated
        for name, metric in _METRICS.items():
            self._sums[name].add(*metric(key_sets, response_sets))
        self._links.update(_links(key_sets, response_sets))

    def scores(self) -> dict[str, dict[str, float] | float]:
        found: dict[str, dict[str, float] | float] = {}
        found |= {name: sums.scores() for name, sums in self._sums.items()}
        found["blanc"] = _blanc(self._links)
        found["conll_f1"] = sum(self._sums[name].scores()["f1"] for name in ("muc", "b_cubed", "ceaf_e")) / 3
        return found


def _without_repeats(clusters: Clusters) -> tuple[list[set[Mention]], int]:
    """Clusters as sets in which every mention stands once; empty ones are left out."""
    seen: set[Mention] = set()
    sets, num_repeated = [], 0
    for cluster in clusters:
        mentions = [(start, end) for start, end in cluster]
        fresh = {mention for mention in mentions if mention not in seen}
        num_repeated += len(mentions) - len(fresh)
        seen |= fresh
        if fresh:
            sets.append(fresh)
    return sets, num_repeated


def _places(clusters: list[set[Mention]]) -> dict[Mention, int]:
    return {mention: place for place, cluster in enumerate(clusters) for mention in cluster}


def _mentions(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    in_key, in_response = set(chain.from_iterable(key)), set(chain.from_iterable(response))
    both = len(in_key & in_response)
    return both, len(in_key), both, len(in_response)


def _muc(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    """A cluster of n mentions is n - 1 links; as many are missed as the other side cuts it into parts, less one."""

    def one_way(clusters: list[set[Mention]], others: list[set[Mention]]) -> tuple[float, float]:
        place = _places(others)
        right = 0
        for cluster in clusters:
            parts = {place[mention] for mention in cluster if mention in place}
            alone = sum(mention not in place for mention in cluster)
            right += len(cluster) - len(parts) - alone
        return right, sum(len(cluster) - 1 for cluster in clusters)

    return *one_way(key, response), *one_way(response, key)


def _b_cubed(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    """Every mention is asked how much of its cluster the other side's cluster holds."""

    def one_way(clusters: list[set[Mention]], others: list[set[Mention]]) -> tuple[float, float]:
        place = _places(others)
        right = 0.0
        for cluster in clusters:
            shared = Counter(place[mention] for mention in cluster if mention in place)
            right += sum(count * count for count in shared.values()) / len(cluster)
        return right, sum(map(len, clusters))

    return *one_way(key, response), *one_way(response, key)


def _ceaf_m(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    shared_KR = _shared(key, response)
    best = _best_match(shared_KR)
    return best, sum(map(len, key)), best, sum(map(len, response))


def _ceaf_e(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    sizes_KR = np.add.outer([len(cluster) for cluster in key], [len(cluster) for cluster in response])
    best = _best_match(2.0 * _shared(key, response) / np.maximum(sizes_KR, 1))
    return best, len(key), best, len(response)


def _shared(key: list[set[Mention]], response: list[set[Mention]]) -> np.ndarray:
    """How many mentions each pair of clusters shares, [K, R]."""
    shared_KR = np.zeros((len(key), len(response)))
    place = _places(response)
    for k, cluster in enumerate(key):
        for mention in cluster:
            if mention in place:
                shared_KR[k, place[mention]] += 1
    return shared_KR


def _best_match(similarity_KR: np.ndarray) -> float:
    """The largest sum of similarities where every cluster is matched with one of the other side at most."""
    rows, columns = linear_sum_assignment(similarity_KR, maximize=True)
    return float(similarity_KR[rows, columns].sum())


def _lea(key: list[set[Mention]], response: list[set[Mention]]) -> tuple[float, float, float, float]:
    """Every cluster is asked for its links, weighted by its size; one mention is linked to itself."""

    def one_way(clusters: list[set[Mention]], others: list[set[Mention]]) -> tuple[float, float]:
        place = _places(others)
        right = 0.0
        for cluster in clusters:
            shared = Counter(place[mention] for mention in cluster if mention in place)
            if len(cluster) == 1:
                right += float(any(len(others[other]) == 1 for other in shared))
            else:
                links = sum(map(_num_links, shared.values()))
                right += len(cluster) * links / _num_links(len(cluster))
        return right, sum(map(len, clusters))

    return *one_way(key, response), *one_way(response, key)


_METRICS: dict[str, Callable[[list[set[Mention]], list[set[Mention]]], tuple[float, float, float, float]]] = {
    "mentions": _mentions,
    "muc": _muc,
    "b_cubed": _b_cubed,
    "ceaf_m": _ceaf_m,
    "ceaf_e": _ceaf_e,
    "lea": _lea,
}


def _links(key: list[set[Mention]], response: list[set[Mention]]) -> dict[str, int]:
    """Pairs of mentions in the same cluster (coreferent) and in two (apart), on each side and on both."""
    shared = _shared(key, response).astype(int)
    both = int(shared.sum())
    coreferent = {
        "key": sum(_num_links(len(cluster)) for cluster in key),
        "response": sum(_num_links(len(cluster)) for cluster in response),
        "both": sum(_num_links(int(count)) for count in shared.ravel()),
    }
    # a pair of shared mentions is apart on both sides unless one side (by rows, by columns) joins it
    joined = sum(_num_links(int(count)) for count in chain(shared.sum(0), shared.sum(1))) - coreferent["both"]
    apart = {
        "key": _num_links(sum(map(len, key))) - coreferent["key"],
        "response": _num_links(sum(map(len, response))) - coreferent["response"],
        "both": _num_links(both) - joined,
    }
    counts = {f"coreferent {side}": count for side, count in coreferent.items()}
    counts |= {f"apart {side}": count for side, count in apart.items()}
    return {
        **counts,
        "mentions key": sum(map(len, key)),
        "mentions response": sum(map(len, response)),
        "mentions both": both,
    }


def _num_links(num_mentions: int) -> int:
    return num_mentions * (num_mentions - 1) // 2


def _blanc(links: Counter[str]) -> dict[str, float]:
    """The mean over coreferent links and links apart; the one kind alone where neither side has the other."""
    kinds = [kind for kind in ("coreferent", "apart") if links[f"{kind} key"] or links[f"{kind} response"]]
    if not kinds:  # no pair of mentions anywhere: all that can be right is a single mention
        return _scores(*(_ratio(links["mentions both"], links[f"mentions {side}"]) for side in ("key", "response")))
    parts = [
        _scores(*(_ratio(links[f"{kind} both"], links[f"{kind} {side}"]) for side in ("key", "response")))
        for kind in kinds
    ]
    return {name: sum(part[name] for part in parts) / len(parts) for name in ("recall", "precision", "f1")}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _scores(recall: float, precision: float) -> dict[str, float]:
    f1 = _ratio(2 * recall * precision, recall + precision)
    return {"recall": 100 * recall, "precision": 100 * precision, "f1": 100 * f1}


def score_documents(pairs: Iterable[tuple[Clusters, Clusters]]) -> dict[str, dict[str, float] | float]:
    """Score (key, response) clusters of many documents. See `CoreferenceScorer`."""
    scorer = CoreferenceScorer()
    for key, response in pairs:
        scorer.add(key, response)
    return scorer.scores()


__all__ = ["Clusters", "CoreferenceScorer", "Mention", "score_documents"]
