"""Finite verbs of English without a dictionary: irregular ones by a list, regular ones by their endings."""

from __future__ import annotations

import re

from spanwise.questions.parts import word_set

_IRREGULAR = (
    "set:set put:put cut:cut let:let hit:hit became:become began:begin bought:buy brought:bring built:build came:come "
    "caught:catch chose:choose drew:draw drove:drive fell:fall fought:fight found:find flew:fly gave:give got:get "
    "grew:grow held:hold kept:keep knew:know laid:lay led:lead left:leave lost:lose lay:lie made:make meant:mean "
    "met:meet paid:pay ran:run rose:rise said:say sang:sing sat:sit saw:see sent:send sold:sell sought:seek "
    "spent:spend spoke:speak spread:spread stood:stand struck:strike taught:teach thought:think told:tell took:take "
    "went:go won:win wore:wear wrote:write broke:break felt:feel heard:hear shot:shoot showed:show "
    "understood:understand underwent:undergo withdrew:withdraw overthrew:overthrow threw:throw bore:bear sank:sink "
    "shook:shake slept:sleep stole:steal swam:swim dealt:deal forbade:forbid arose:arise bred:breed fled:flee hid:hide "
    "rode:ride wove:weave undertook:undertake overcame:overcome"
)
PAST = dict(pair.split(":") for pair in _IRREGULAR.split())
PARTICIPLES = word_set(
    "been become begun bought brought built come caught chosen drawn driven fallen fought found flown given gotten "
    "grown held kept known laid led left lost made meant met paid run risen said sung seen sent sold sought spent "
    "spoken spread stood struck taught thought told taken gone won worn written broken felt heard shot shown "
    "understood undergone withdrawn overthrown thrown borne sunk stolen dealt born set put cut"
)
_PRESENT = (
    "include contain remain lie flow border use provide produce make take give become begin play offer serve run stand "
    "hold represent follow form lead cover mean refer describe occur live work consist belong exist depend cause show "
    "require allow support separate connect receive appear argue believe claim state write say suggest define involve "
    "feature deal share speak contribute extend range host own operate house employ see know call grow rise reach "
    "comprise possess maintain control create develop encompass tell win enter return move bring find come"
)
PRESENT = {(verb + "es" if verb[-1] in "shx" else verb + "s"): verb for verb in _PRESENT.split()} | {
    "carries": "carry",
    "goes": "go",
    "applies": "apply",
    "studies": "study",
}

_NO_E = (
    "visit edit limit inherit profit exhibit prohibit inhabit deposit credit benefit merit exit open happen gain "
    "remain attain obtain maintain contain explain train join sustain retain entertain abandon question mention "
    "function position condition design assign sign align return turn learn earn govern concern adjourn own allow "
    "follow borrow grow show develop envelop travel model label cancel appeal reveal conceal fail sail mail prevail "
    "detail claim aim proclaim reclaim ransom transform perform form reform inform confirm affirm film harm appear "
    "hear clear fear near wear bear repair pair air honor favor monitor sponsor author tutor anchor labor offer order "
    "cover discover recover consider deliver remember enter center gather administer refer suffer differ alter number "
    "answer register render transfer wonder murder encounter shelter master attack look book cook seek speak break "
    "leak soak focus discuss pass cross possess press express address process access dress stress miss dismiss need "
    "proceed succeed exceed head lead read load spread avoid aid raid land repeat treat defeat eat beat heat seat "
    "greet meet await wait recruit suit shoot root boast coast quiet interpret target market budget ticket riot pilot "
    "pivot orbit audit debut halt call fill kill sell spell tell roll control pull install fulfill help keep peep "
    "creep equip worship stop ship plan ban fan beg rob commit permit admit submit omit regret knot prefer occur equal "
    "signal total rival pedal combat format threat float summon poison reason season pardon iron crown drown down "
    "clown frown bow row sow vow view review renew chew screw slow flow blow elbow shadow dim swim seem deem redeem "
    "bloom zoom loom doom roam gleam stream dream team cream"
)
_PLAIN = frozenset(_NO_E.split())  # these take no e back

_SILENT = re.compile(
    "(?:at|i[zs]|uc|[aeiolru]v|ur|ir|[aou]s|nc|rc|rg|dg|ag|ang|ib|[uioa]d|et|ot|it|ut|in|un|ak|ok|[aoyi]p|"
    "[aoui]l|[bcdgpt]l|[aiou]m|ar|or|rs|ns|iqu|[aie]c)$"
)
_VOWELS = "aeiou"


def base_of(verb: str) -> tuple[str, str] | None:
    """Return "do" in the form of a finite verb, and its base form: ("did", "write") of wrote; None of other words."""
    if verb in PAST:
        return "did", PAST[verb]
    if verb in PRESENT:
        return "does", PRESENT[verb]
    if verb in ("own", "lie"):
        return "do", verb
    if verb.endswith("ed") and len(verb) > 3 and verb not in _NOT_PAST:
        return "did", _base_of_regular(verb)
    return None


def is_participle(word: str) -> bool:
    """Return whether a word may follow "was" or "has" as its verb."""
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3) or (word.endswith("ing") and len(word) > 5)


_NOT_PAST = word_set("indeed hundred united need speed breed sacred armed aged seed feed exceed proceed succeed")


def _base_of_regular(verb: str) -> str:
    stem = verb[:-2]
    if verb.endswith("ied"):
        return verb[:-1] if len(verb) <= 4 else stem[:-1] + "y"
    if stem in _PLAIN:
        return stem
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "sfz":
        return stem if stem[-1] == "l" and len(stem) <= 5 else stem[:-1]
    if stem[-1] in "aeiou":  # agreed, continued
        return stem + "e"
    if len(stem) > 2 and stem[-2] in _VOWELS and stem[-3] in _VOWELS and stem[-3:-1] != "ui":
        return (
            stem + "e" if stem[-1] in "sv" or stem.endswith(("eat", "iat", "uat", "uad")) else stem
        )  # raise, create; remain
    one_syllable = len(re.findall("[aeiouy]+", stem)) == 1
    if one_syllable and len(stem) > 1 and stem[-2] in _VOWELS and stem[-1] not in "wxy":
        return stem + "e"  # name, use
    return stem + "e" if _SILENT.search(stem) else stem
