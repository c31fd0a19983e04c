"""Whether this machine has products of bytes; where it has none, tests show that it says so."""

import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.runtime.device import has_int8, resolve_precision

CPU = torch.device("cpu")


def refused_here() -> bool:
    """True on a machine without products of bytes, where int8 is refused with what to do."""
    if has_int8(CPU):
        return False
    with pytest.raises(ConfigError, match="Use 'auto' or 'fp32'"):
        resolve_precision("int8", CPU)
    return True
