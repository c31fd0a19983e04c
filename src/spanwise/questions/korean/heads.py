"""What an answer is called when a question ends in a noun: …한 사람은? …한 해는 언제인가?"""

from __future__ import annotations

import random
from collections.abc import Sequence

from spanwise.questions.korean.particles import ends_in_consonant
from spanwise.questions.korean.spans import is_title
from spanwise.questions.korean.words import PLACE_ENDS, SURNAMES
from spanwise.questions.parts import Span, word_set
from spanwise.text.morphemes import Morpheme

_PLACES = {"시": "도시", "강": "강", "산": "산", "섬": "섬", "도": "지역", "주": "주", "역": "역", "공항": "공항"}
_COUNTRIES = word_set(
    "대한민국 한국 조선 일본 중국 미국 영국 프랑스 독일 이탈리아 스페인 러시아 소련 인도 북한 터키 이집트 그리스 "
    "로마 오스트리아 네덜란드 벨기에 스위스 스웨덴 노르웨이 덴마크 핀란드 폴란드 헝가리 체코 우크라이나 캐나다 "
    "멕시코 브라질 아르헨티나 호주 오스트레일리아 뉴질랜드 베트남 태국 필리핀 인도네시아 말레이시아 싱가포르 "
    "타이완 몽골 이란 이라크 이스라엘 아일랜드 잉글랜드 스코틀랜드 고구려 백제 신라 고려"
)
_THINGS = word_set(
    "대학교 대학 고등학교 중학교 초등학교 학교 학원 병원 회사 그룹 방송 신문 일보 정당 전쟁 전투 조약 협정 혁명 "
    "운동 사건 대회 리그 올림픽 월드컵 영화제 축제 시리즈 상 법 제도 정책 위원회 협회 연맹 연합 재단 은행 박물관 "
    "미술관 도서관 극장 성당 교회 사찰 궁전 왕조 제국 왕국 공화국 정부 의회 법원 군대 함대 부대 철도 고속도로 "
    "도로 다리 운하 호수 반도 해협 언어 문자 종교 소설 영화 드라마 음반 노래 게임 잡지 프로그램 이론 법칙 원리 "
    "효과 방식 방법 기술 시스템 구조 기관 단체 조직 클럽 팀 구단 선 호 함 당 사 족 어 교 파 학 론 증 균 약 곡"
)
_SHORT = {"당": "정당", "사": "회사", "족": "민족", "어": "언어", "교": "종교", "파": "파", "학": "학문", "론": "이론"}
_SHORT |= {"증": "증상", "곡": "곡", "호": "이름", "함": "함선", "선": "노선", "상": "상", "법": "법", "팀": "팀"}
_ENDS_OF_THINGS = tuple("당사족어교파학론증곡호함선상법팀전회서기")
_PLAIN = frozenset({"것", "곳"})


def head_of(text: str, morphemes: Sequence[Morpheme], span: Span, draw: random.Random) -> str:
    """Return a noun that says what kind of thing the answer is."""
    answer = span.text
    looks_korean = len(answer) == 3 and answer[0] in SURNAMES and not answer.endswith(PLACE_ENDS + _ENDS_OF_THINGS)
    if span.kind == "person" or (span.kind == "name" and looks_korean and answer not in _COUNTRIES):
        return draw.choice(("인물", "사람", "사람", "인물"))
    if span.kind == "date":
        return _time(answer, draw)
    if span.kind == "place":
        if answer in _COUNTRIES:
            return draw.choice(("나라", "나라", "국가", "곳"))
        ends = next((head for end, head in _PLACES.items() if len(answer) > 2 and answer.endswith(end)), None)
        return ends if ends is not None and draw.random() < 0.6 else draw.choice(("곳", "곳", "지역", "장소"))
    if is_title(text, span):
        return "작품"
    nouns = [m for m in morphemes if span.start <= m.start and m.end <= span.end]
    last = nouns[-1] if nouns else None
    if last is not None and len(nouns) > 1 and last.tag == "NNG" and last.end - last.start > 1:
        return text[last.start : last.end]  # 온수난방 방식: 방식
    for end in (answer[-4:], answer[-3:], answer[-2:]):
        if end in _THINGS and len(end) < len(answer):
            return end
    return _SHORT.get(answer[-1:], "것") if len(answer) > 2 and span.kind == "name" else "것"


def _time(answer: str, draw: random.Random) -> str:
    if answer.endswith("일"):
        return draw.choice(("날", "날짜"))
    if answer.endswith("년"):
        return draw.choice(("해", "해", "연도", "년도", "때"))
    return draw.choice(("시기", "때"))


def ending(head: str, span: Span, draw: random.Random) -> str:
    """Return how a question goes on behind the noun it ends in."""
    asks = {"person": "누구인가", "place": "어디인가", "date": "언제인가"}.get(span.kind, "무엇인가")
    asks = "무엇인가" if head in ("강", "산", "섬", "역", "주") else asks
    if head in ("인물", "사람"):
        asks = "누구인가"
    topic = "은" if ends_in_consonant(head) else "는"
    if span.kind in ("person", "name") and head not in _PLAIN and draw.random() < 0.25:
        return draw.choice(("의 이름은", "의 이름은 무엇인가"))
    if draw.random() < 0.5:
        return topic
    return f"{topic} {asks if draw.random() < 0.9 else asks + '요'}"
