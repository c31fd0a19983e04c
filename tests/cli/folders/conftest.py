"""Makes the hub on loopback known to the tests of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "interop" / "hub"))

from hub_fixture import hub  # noqa: F401  a fixture
