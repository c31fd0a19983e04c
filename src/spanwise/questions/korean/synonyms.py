"""Other words for what a sentence says, so that a question is not found by its words alone: 사용한, 이용한."""

from __future__ import annotations

import random
import re

SHARE = 0.4  # of the words that have another
_GROUPS = (
    "설립 창립 창설|건설 건립|발표 공표|사용 이용 활용|획득 취득|공격 습격|파괴 훼손|임명 선임|출시 발매|변경 "
    "교체|구성 편성|참여 참가|거부 거절|비판 비난|폐지 철폐|수여 시상|공개 발표|제안 제의|제공 지원|생산 제조|"
    "활동 활약|사망 별세|시작 개시|완성 완공|제작 제조|출간 출판 발간|체포 검거|결정 확정|개편 개혁|이주 이사|"
    "결혼 혼인|승인 허가|점령 함락|증가 상승|감소 하락|연결 접속|분리 구분|합병 통합|졸업 수료|출연 등장|기록 "
    "달성|담당 전담|요구 요청|금지 제한|방문 내방|선출 선임|보유 소유|해체 해산|철거 제거|수집 채집|분류 구분|"
    "연구 탐구|형성 구성|반대 반발|실시 시행|추진 진행|의미 뜻"
)
_OTHERS = {
    word: [other for other in group.split() if other != word] for group in _GROUPS.split("|") for word in group.split()
}
_WORD = re.compile(f"(?<![^ ])({'|'.join(_OTHERS)})(?=[하한했해할되된됐될])")


def varied(question: str, draw: random.Random) -> str:
    """Return a question with some verbs in other words."""
    return _WORD.sub(lambda match: draw.choice(_OTHERS[match[1]]) if draw.random() < SHARE else match[1], question)
