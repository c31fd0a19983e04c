"""Where the coreference corpora of two probes lie, and how to get them."""

from __future__ import annotations

from typing import Literal

from spanwise.studies.probes.base import ProbeFile

Corpus = Literal["ontogum", "litbank"]
_HOW = {
    "ontogum": "It is made from the GitHub repository amir-zeldes/gum (coref/ontogum/conll), the documents of each "
    "part one after another.",
    "litbank": "It is made from the GitHub repository dbamman/litbank (coref/conll), the documents of each part one "
    "after another.",
}


def coreference_files(corpus: Corpus) -> dict[str, ProbeFile]:
    """Training and development documents of a corpus, CoNLL columns or JSON lines."""
    title = {"ontogum": "OntoGUM", "litbank": "LitBank"}[corpus]
    return {
        key: ProbeFile(
            patterns=(f"coref/{corpus}/{key}*", f"{corpus}/{key}*"),
            what=f"{title}, {words} documents with coreference in CoNLL columns",
            how=_HOW[corpus],
        )
        for key, words in (("train", "training"), ("dev", "development"))
    }
