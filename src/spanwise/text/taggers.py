"""Taggers by the name of the side array they fill."""

from __future__ import annotations

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.morphemes import MorphemeTagger
from spanwise.text.tags import Tagger

_TAGGERS = {"morphemes": MorphemeTagger}


def find_tagger(name: str) -> Tagger:
    """Make the tagger of a name. Raises: ConfigError where there is none, or where its library is not installed."""
    if name not in _TAGGERS:
        raise ConfigError(f"nothing tags {name!r}; there is {', '.join(_TAGGERS)}.{did_you_mean(name, _TAGGERS)}")
    return _TAGGERS[name]()
