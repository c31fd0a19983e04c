"""Find the paragraphs that a question is most likely about: BM25 over words, no index kept.

Source: Robertson and Zaragoza 2009 (BM25), with k1 = 1.2 and b = 0.75.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

K1, B = 1.2, 0.75


def nearest_paragraphs(question: str, paragraphs: Sequence[str], top: int = 3) -> list[int]:
    """Indices of the `top` paragraphs that share the rarest words with the question, best first; maybe fewer."""
    wanted = set(words(question))
    counts = [Counter(words(paragraph)) for paragraph in paragraphs]
    sizes = [sum(count.values()) for count in counts]
    mean_size = sum(sizes) / max(1, len(sizes))
    frequency = {word: sum(word in count for count in counts) for word in wanted}
    scored = []
    for index, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        score = 0.0
        for word in wanted & count.keys():
            rarity = math.log(1 + (len(counts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            score += rarity * count[word] * (K1 + 1) / (count[word] + K1 * (1 - B + B * size / max(1.0, mean_size)))
        if score > 0:
            scored.append((-score, index))
    return [index for _, index in sorted(scored)[:top]]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
