"""Find the paragraphs that a question is most likely about: BM25 over words, no index kept.

Source: Robertson and Zaragoza 2009 (BM25), with k1 = 1.2 and b = 0.75.
"""

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

K1, B = 1.2, 0.75
# Thai to Khmer, kana, Han and Hangul; a question about 서울은 means the paragraph that says 서울이
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def nearest_paragraphs(question: str, paragraphs: Sequence[str], top: int = 3) -> list[int]:
    """Return the indices of at most `top` paragraphs, those that share the rarest words with the question first."""
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
    """Return lower-case words, or pairs of characters where words carry particles or have no blanks between them."""
    found = []
    for word in re.findall(r"\w+", unicodedata.normalize("NFC", text).lower()):
        if _NO_BLANKS.search(word) and len(word) > 1:
            found += [first + second for first, second in itertools.pairwise(word)]
        else:
            found.append(word)
    return found
