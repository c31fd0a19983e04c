"""Korean particles behind a question word: they stay what they are, in the form that its last sound asks for.

누구 + 이/가 is 누가; a topic (은/는) cannot be asked for, so it becomes a subject: 무엇이, 누가, 어디가.
"""

from __future__ import annotations

_PAIRS = ("이/가", "을/를", "과/와", "으로/로", "이나/나", "이라는/라는", "이라고/라고")
_BY_SOUND = {"은": "이/가", "는": "이/가"} | {form: pair for pair in _PAIRS for form in pair.split("/")}
_TOPIC = ("은", "는")
_LIQUID = 8  # ㄹ: it takes 로 like a vowel


def with_particle(word: str, particle: str) -> str:
    """Return a question word with the particle that stood behind the answer."""
    if (
        particle.endswith(_TOPIC)
        and len(particle) > 1
        and particle[:-1] in ("에서", "에", "에게", "까지", "부터", "으로", "로")
    ):
        particle = particle[:-1]  # 에서는: the place remains
    pair = _BY_SOUND.get(particle)
    if pair is None:
        return word + particle
    closed, open_ = pair.split("/")
    if word == "누구" and open_ == "가":
        return "누가"
    return word + (closed if ends_in_consonant(word, but_liquid=closed == "으로") else open_)


def ends_in_consonant(word: str, *, but_liquid: bool = False) -> bool:
    """Return whether the last syllable of a word is closed; `but_liquid`: ㄹ counts as open."""
    code = ord(word[-1]) - 0xAC00
    if not 0 <= code < 11172:
        return False
    final = code % 28
    return final != 0 and not (but_liquid and final == _LIQUID)
