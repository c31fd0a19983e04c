"""`import spanwise` is instant, and its names are there when they are used."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import spanwise


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys; import spanwise; dir(spanwise); "
        "heavy = {'torch', 'numpy', 'numba', 'tokenizers', 'pydantic', 'transformers'} & set(sys.modules); "
        "print(sorted(heavy))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[0] == "[]"


def test_every_public_name_can_be_fetched():
    for name in spanwise.__all__:
        assert getattr(spanwise, name) is not None
        assert name in dir(spanwise)
    assert callable(spanwise.pipeline) and callable(spanwise.load)


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert spanwise.__version__ == version("spanwise")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError, match="pipeline"):
        spanwise.pipelin  # noqa: B018


def test_the_changelog_and_the_citation_are_of_this_version():
    root = Path(__file__).parents[1]
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == spanwise.__version__ and cited["preferred-citation"]["doi"]
    assert f"\n## {spanwise.__version__}" in (root / "CHANGELOG.md").read_text("utf-8")
