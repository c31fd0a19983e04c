"""The metrics of coreference, as the reference scorer (version 8.01) counts them.

Every metric is four sums: numerator and denominator of recall and of precision. Documents are added up before anything
is divided, so long documents weigh more. A mention is a place (two integers); clusters hold mentions. A mention that a
response names again, in the same cluster or in a later one, counts where it first stood.

Letters: K clusters of the key, R clusters of the response.

Source: Pradhan et al. 2014 (the reference implementation for predicted mentions): MUC (Vilain et al. 1995), B-cubed
(Bagga and Baldwin 1998), CEAF (Luo 2005), BLANC (Luo et al. 2014); LEA (Moosavi and Strube 2016).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from scipy.optimize import linear_sum_assignment

Mention = tuple[int, int]
Clusters = Sequence[Sequence[Mention]]
Sets = list[set[Mention]]
Sums = tuple[float, float, float, float]  # numerator and denominator of recall, then of precision


@dataclass
class CoreferenceScorer:
    """Add documents, then read `scores()`: `muc`, `b_cubed`, `ceaf_m`, `ceaf_e`, `lea`, `blanc` with `recall`,
    `precision` and `f1` from 0 to 100, `mentions` (how many were found), and `conll_f1`, the mean F1 of MUC, B-cubed
    and entity CEAF."""

    _sums: dict[str, np.ndarray] = field(default_factory=lambda: {name: np.zeros(4) for name in _METRICS})
    _links: Counter[str] = field(default_factory=Counter)

    def add(self, key: Clusters, response: Clusters) -> None:
        """Compare the clusters of one document."""
        key_sets, response_sets = _without_repeats(key), _without_repeats(response)
        for name, metric in _METRICS.items():
            self._sums[name] += metric(key_sets, response_sets)
        self._links.update(_links(key_sets, response_sets))

    def scores(self) -> dict[str, dict[str, float] | float]:
        found = {name: recall_precision_f1(*sums.tolist()) for name, sums in self._sums.items()}
        mean = sum(found[name]["f1"] for name in ("muc", "b_cubed", "ceaf_e")) / 3
        return {"conll_f1": mean, **found, "blanc": _blanc(self._links)}


def _without_repeats(clusters: Clusters) -> Sets:
    """Clusters as sets in which every mention stands once; empty ones are left out."""
    seen: set[Mention] = set()
    sets = []
    for cluster in clusters:
        fresh = {(start, end) for start, end in cluster} - seen
        seen |= fresh
        if fresh:
            sets.append(fresh)
    return sets


def _places(clusters: Sets) -> dict[Mention, int]:
    return {mention: place for place, cluster in enumerate(clusters) for mention in cluster}


def _mentions(key: Sets, response: Sets) -> Sums:
    in_key, in_response = set(chain.from_iterable(key)), set(chain.from_iterable(response))
    both = len(in_key & in_response)
    return both, len(in_key), both, len(in_response)


def _muc(size: int, shared: Counter[int], others: Sets) -> tuple[float, float]:
    """A cluster of n mentions is n - 1 links; as many are missed as the other side cuts it into parts, less one."""
    return shared.total() - len(shared), size - 1


def _b_cubed(size: int, shared: Counter[int], others: Sets) -> tuple[float, float]:
    """Every mention is asked how much of its cluster the other side's cluster holds."""
    return sum(count * count for count in shared.values()) / size, size


def _lea(size: int, shared: Counter[int], others: Sets) -> tuple[float, float]:
    """Every cluster is asked for its links, weighted by its size; one mention is linked to itself."""
    if size == 1:
        return float(any(len(others[other]) == 1 for other in shared)), size
    return size * sum(map(_num_links, shared.values())) / _num_links(size), size


def _both_ways(weigh: Callable[[int, Counter[int], Sets], tuple[float, float]]) -> Callable[[Sets, Sets], Sums]:
    """Return the metric that asks each cluster what of it is right, given how many mentions each of the other side's
    clusters shares with it; the key's clusters for recall and the response's for precision."""

    def one_way(clusters: Sets, others: Sets) -> tuple[float, float]:
        place = _places(others)
        right = whole = 0.0
        for cluster in clusters:
            shared = Counter(place[mention] for mention in cluster if mention in place)
            part, size = weigh(len(cluster), shared, others)
            right, whole = right + part, whole + size
        return right, whole

    return lambda key, response: (*one_way(key, response), *one_way(response, key))


def _ceaf_m(key: Sets, response: Sets) -> Sums:
    best = _best_match(_shared(key, response))
    return best, sum(map(len, key)), best, sum(map(len, response))


def _ceaf_e(key: Sets, response: Sets) -> Sums:
    sizes_KR = np.add.outer([len(cluster) for cluster in key], [len(cluster) for cluster in response])
    best = _best_match(2.0 * _shared(key, response) / np.maximum(sizes_KR, 1))
    return best, len(key), best, len(response)


def _shared(key: Sets, response: Sets) -> np.ndarray:
    """How many mentions each pair of clusters shares, [K, R]."""
    shared_KR, place = np.zeros((len(key), len(response))), _places(response)
    for k, cluster in enumerate(key):
        for mention in cluster & place.keys():
            shared_KR[k, place[mention]] += 1
    return shared_KR


def _best_match(similarity_KR: np.ndarray) -> float:
    """The largest sum of similarities where every cluster is matched with one of the other side at most."""
    rows, columns = linear_sum_assignment(similarity_KR, maximize=True)
    return float(similarity_KR[rows, columns].sum())


_METRICS: dict[str, Callable[[Sets, Sets], Sums]] = {
    "mentions": _mentions,
    "muc": _both_ways(_muc),
    "b_cubed": _both_ways(_b_cubed),
    "ceaf_m": _ceaf_m,
    "ceaf_e": _ceaf_e,
    "lea": _both_ways(_lea),
}


def _links(key: Sets, response: Sets) -> dict[str, int]:
    """Pairs of mentions in the same cluster (coreferent) and in two (apart), on each side and on both."""
    shared = _shared(key, response).astype(int)
    counts = {"mentions both": int(shared.sum())}
    for side, clusters in (("key", key), ("response", response)):
        counts[f"mentions {side}"] = sum(map(len, clusters))
        counts[f"coreferent {side}"] = sum(_num_links(len(cluster)) for cluster in clusters)
        counts[f"apart {side}"] = _num_links(counts[f"mentions {side}"]) - counts[f"coreferent {side}"]
    counts["coreferent both"] = sum(_num_links(int(count)) for count in shared.ravel())
    # a pair of shared mentions is apart on both sides unless one side (by rows, by columns) joins it
    joined = sum(_num_links(int(count)) for count in chain(shared.sum(0), shared.sum(1))) - counts["coreferent both"]
    counts["apart both"] = _num_links(counts["mentions both"]) - joined
    return counts


def _num_links(num_mentions: int) -> int:
    return num_mentions * (num_mentions - 1) // 2


def _blanc(links: Counter[str]) -> dict[str, float]:
    """The mean over coreferent links and links apart; the one kind alone where the key lacks the other.

    So counts the reference scorer. Luo et al. (2014) drop a kind only where the response lacks it as well.
    """
    kinds: list[str] = []
    for side in ("key", "response"):
        kinds = kinds or [kind for kind in ("coreferent", "apart") if links[f"{kind} {side}"]]
    # where there is no pair of mentions anywhere, all that can be right is a single mention
    parts = [
        recall_precision_f1(*(links[f"{kind} {side}"] for side in ("both", "key", "both", "response")))
        for kind in kinds or ["mentions"]
    ]
    return {name: sum(part[name] for part in parts) / len(parts) for name in ("recall", "precision", "f1")}


def recall_precision_f1(right_of_key: float, key: float, right_of_response: float, response: float) -> dict[str, float]:
    """Return recall, precision and F1 from 0 to 100; 0 where nothing could be right."""
    recall = right_of_key / key if key else 0.0
    precision = right_of_response / response if response else 0.0
    f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    return {"recall": 100 * recall, "precision": 100 * precision, "f1": 100 * f1}
