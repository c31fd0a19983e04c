"""Recipes and their parts: frozen, validated, recorded as JSON, changed by `path=value`.

A recipe is a frozen dataclass made of parts; a part is a frozen dataclass with a literal name. Nothing derived is
stored: `None` means "derived when the run is built".
"""

from spanwise.config.overrides import override
from spanwise.config.parts import Part, part
from spanwise.config.records import ABSENT, difference, from_record, to_record
from spanwise.config.yaml_files import commented_yaml, overrides_from_yaml
