"""Structural changes of a value inside JSON, for tests of what a damaged file does."""

import copy
import json
import random

WRONG_VALUES = (
    None, True, False, 0, -1, 3, 1.5, 10**30, -(10**30), 1e308, "", "x", "\ud800", "9" * 5000, [], {}, ["a"], [[1]],
    {"a": 1}, {"": None}, [None], 2**31, 2**63,
)  # fmt: skip


def paths_in(value, before=()):
    """The place of every value inside a JSON value, its own included."""
    yield before
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from paths_in(part, (*before, key))


def mutated(value, chance: random.Random):
    """The value with one to three places inside it replaced, removed, repeated, wrapped, renamed or exchanged."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = [path for path in paths_in(changed) if path]
        if not places:
            return chance.choice(WRONG_VALUES)
        # first how deep, then which: long lists of numbers would otherwise take nearly all changes
        depth = chance.choice(sorted({len(path) for path in places}))
        *way, key = chance.choice([path for path in places if len(path) == depth])
        owner = changed
        for step in way:
            owner = owner[step]
        kind = chance.choice(("replace", "replace", "replace", "remove", "repeat", "wrap", "rename", "exchange"))
        if kind == "remove":
            del owner[key]
        elif kind == "repeat" and isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[key]))
        elif kind == "rename" and isinstance(owner, dict):
            owner[chance.choice(("", "x", "part", "0"))] = owner.pop(key)
        elif kind == "wrap":
            owner[key] = chance.choice(([owner[key]], {"a": owner[key]}, [owner[key]] * 2, str(owner[key])))
        elif kind == "exchange":
            other = chance.choice(places)
            held = changed
            for step in other:
                held = held[step] if isinstance(held, dict | list) and _has(held, step) else None
            owner[key] = copy.deepcopy(held)
        else:
            owner[key] = copy.deepcopy(chance.choice(WRONG_VALUES))
    return changed


def _has(owner, step):
    return step in owner if isinstance(owner, dict) else isinstance(step, int) and step < len(owner)


def mutated_json(text: str, chance: random.Random) -> str:
    """The same for a JSON text, or for one of the lines of a file of JSON lines."""
    try:
        return json.dumps(mutated(json.loads(text), chance))
    except json.JSONDecodeError:
        lines = text.splitlines()
        place = chance.randrange(len(lines))
        lines[place] = json.dumps(mutated(json.loads(lines[place]), chance))
        return "\n".join(lines) + "\n"
