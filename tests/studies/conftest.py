"""What studies are tested on: the tiny store of the whole suite, and minimal pairs in its words."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def probe_data(tmp_path_factory) -> Path:
    """A folder of probe data with eight minimal pairs."""
    folder = tmp_path_factory.mktemp("probe-data")
    rows = [
        {"sentence_good": f"{word} was old .", "sentence_bad": f"{word} was was old .", "UID": f"u{number % 2}"}
        for number, word in enumerate("river bridge town bread fish cloth church market".split())
    ]
    (folder / "blimp.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
