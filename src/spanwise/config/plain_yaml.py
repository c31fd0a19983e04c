"""YAML read strictly: plain values only, as YAML 1.2 writes them.

PyYAML follows YAML 1.1, where `on` and `no` are booleans, `1e-4` is text and `2026-01-01` a date. Here they are text,
a number and text. Tags, aliases (which can grow without bound) and repeated names are errors.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from spanwise.errors import ConfigError

MAX_CHARACTERS = 1_000_000


def load_plain(text: str) -> Any:
    """Read nested dicts, lists, numbers, texts, booleans and None. Raises: ConfigError."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"the YAML text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read.")
    try:
        return yaml.load(text, Loader=_PlainLoader)  # a SafeLoader that refuses even more: plain values only
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"the YAML text cannot be read: {error}") from error
    except RecursionError as error:
        raise ConfigError("the YAML text is nested too deeply.") from error


class _PlainLoader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict = {}  # noqa: RUF012  filled below, never by a caller

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.YAMLError(f"aliases (*{event.anchor}) are not read, line {event.start_mark.line + 1}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.YAMLError(f"a name is a {key.id}; names are text, line {key.start_mark.line + 1}")
            if key.value in seen:
                raise yaml.YAMLError(f"{key.value!r} stands twice, line {key.start_mark.line + 1}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(node.value.replace("_", ""))


_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|false|False)$"), list("tTfF"))
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^(?:[-+]?(?:0|[1-9][0-9_]*))$"), list("-+0123456789")
)
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.[0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_PlainLoader.add_constructor("tag:yaml.org,2002:float", _float)
