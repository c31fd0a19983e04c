"""The metrics of tagging: entities as conlleval and seqeval count them, words and characters as scikit-learn does.

Source: Tjong Kim Sang and De Meulder 2003 (an entity is right where both borders and the type are); Park et al. 2021
(KLUE-NER: macro F1 over types, and over the tags of characters).
"""

import math
from collections import Counter
from collections.abc import Sequence

from spanwise.errors import DataError
from spanwise.tasks.base import Score
from spanwise.tasks.classification.score import label_scores
from spanwise.tasks.tagging.spans import Span


def entity_scores(gold: Sequence[Sequence[Span]], told: Sequence[Sequence[Span]]) -> dict[str, Score]:
    """`f1`, `precision`, `recall` over all entities, `macro_f1` over the types that occur, and the three of each type,
    from 0 to 100. One list of spans per sentence.

    Raises: DataError where the two differ in the number of sentences.
    """
    if len(gold) != len(told):
        raise DataError(f"{len(told):,} tagged sentences came for {len(gold):,}; one for each is needed.")
    wanted = Counter(span.label for spans in gold for span in spans)
    found = Counter(span.label for spans in told for span in set(spans))
    right = Counter(span.label for g, t in zip(gold, told, strict=True) for span in set(g) & set(t))
    types = sorted({*wanted, *found})
    each = {name: _three(right[name], found[name], wanted[name]) for name in types}
    total = _three(right.total(), found.total(), wanted.total())
    macro = math.fsum(scores["f1"] for scores in each.values()) / len(each) if each else 0.0
    return {"f1": total["f1"], "precision": total["precision"], "recall": total["recall"], "macro_f1": macro, **each}


def unit_scores(gold: Sequence[str], told: Sequence[str]) -> dict[str, float]:
    """`accuracy` and `macro_f1` of tags one by one."""
    scores = label_scores(gold, told)
    return {name: scores[name] for name in ("accuracy", "macro_f1")}


def _three(right: int, found: int, wanted: int) -> dict[str, float]:
    return {
        "recall": 100 * right / wanted if wanted else 0.0,
        "precision": 100 * right / found if found else 0.0,
        "f1": 200 * right / (found + wanted) if found + wanted else 0.0,
    }
