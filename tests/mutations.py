"""Structural changes of files: of a value inside JSON, and of the lines and columns of a table."""

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


def mutated_lines(text: str, chance: random.Random) -> str:
    """A file of lines and columns with lines or cells removed, repeated, exchanged or replaced."""
    lines = text.split("\n")
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(lines))
        mark = next((mark for mark in "\t ," if mark in lines[place]), "\t")
        cells = lines[place].split(mark)
        cell = chance.randrange(len(cells))
        kind = chance.choice(("replace", "remove cell", "repeat cell", "remove", "repeat", "exchange", "blank", "ends"))
        if kind == "replace":
            cells[cell] = chance.choice(("", "x", "-1", "9" * 30, "B-", "I-X", "(", "0)", "(1(1", "nan", "\x00", "[]"))
        elif kind == "remove cell":
            del cells[cell]
        elif kind == "repeat cell":
            cells.insert(cell, cells[cell])
        lines[place] = mark.join(cells)
        if kind == "remove" and len(lines) > 1:
            del lines[place]
        elif kind == "repeat":
            lines.insert(place, lines[place])
        elif kind == "exchange":
            other = chance.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == "blank":
            lines.insert(place, "")
        elif kind == "ends":
            lines = lines[: place + 1]
    return "\n".join(lines)
