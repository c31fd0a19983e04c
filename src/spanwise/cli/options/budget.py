"""Read a length of time such as `20min`, `90s`, `1h30m` or `1.5h`."""

import re

from spanwise.errors import ConfigError

SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
UNITS = {"hours": "h", "hour": "h", "hr": "h", "h": "h", "minutes": "m", "minute": "m", "mins": "m", "min": "m"}
UNITS |= {"m": "m", "seconds": "s", "second": "s", "secs": "s", "sec": "s", "s": "s"}
MOST_SECONDS = 1e9
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def parse_budget(words: str) -> float:
    """Return the seconds that `words` name, for example 5400.0 for `1h30m`.

    Raises: ConfigError for anything else, a bare number included: 20 what?
    """
    rest, seconds = words.strip().lower(), 0.0
    while rest:
        piece = _PIECE.match(rest)
        if piece is None or piece[2] not in UNITS:
            raise ConfigError(f"--budget {words!r} is no length of time. Write it as 20min, 90s or 1h30m.")
        seconds += float(piece[1]) * SECONDS[UNITS[piece[2]]]
        rest = rest[piece.end() :]
    if seconds <= 0:
        raise ConfigError(f"--budget {words!r} leaves no time. Write it as 20min, 90s or 1h30m.")
    if seconds > MOST_SECONDS:
        raise ConfigError(f"--budget {words[:40]!r} is longer than 30 years. Write it as 20min, 90s or 1h30m.")
    return seconds


def format_seconds(seconds: float) -> str:
    """Return a length of time as people write it: `8 s`, `2 min 5 s`, `1 h 30 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
