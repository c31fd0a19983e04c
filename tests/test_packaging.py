"""What is handed out: the wheel and the sdist, the extras, and the file that containers are built from."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from spanwise.cli.asking.serve import serve
from spanwise.weights import SHIPPED

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OF_DEVELOPERS = {"bench", "docs", "slow", "test"}
MAX_WHEEL_BYTES = 44_000_000


def names_in(requirements: list[str]) -> set[str]:
    """Return the packages of a list of requirements; those of our own extras stand for themselves."""
    found: set[str] = set()
    for requirement in map(Requirement, requirements):
        extras = requirement.extras if requirement.name == "spanwise" else ()
        found |= names_in([line for extra in extras for line in EXTRAS[extra]]) if extras else {requirement.name}
    return found


def normalised(name: str) -> str:
    """Return a package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile as (word, rest), continued lines joined, comments left out."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def wrong_in_containerfile(text: str, ignore: str) -> list[str]:
    """Return what breaks our rules: sources exist and are sent, versions are the project's, no root, a real command."""
    found, steps = [], instructions(text)
    allowed = {line[1:] for line in ignore.splitlines() if line.startswith("!")}
    for word, rest in steps:
        sources = [part for part in shlex.split(rest)[:-1] if not part.startswith("--")]
        if word in ("COPY", "ADD") and "--from=" not in rest:
            found += [f"{word} {name}: not there" for name in sources if not (ROOT / name).exists()]
            found += [f"{word} {name}: .dockerignore leaves it out" for name in sources if name not in allowed]
        if word == "RUN":
            for extra in ",".join(re.findall(r"\.\[([\w,]+)\]", rest)).split(","):
                found += [f"no extra {extra}"] if extra and extra not in EXTRAS else []
            if "pip install" in rest and "-c constraints.txt" not in rest:
                found.append("pip installs what constraints.txt does not pin")
    python = re.search(r"^ARG PYTHON=(.+)$", text, re.M)
    if python is None or not SpecifierSet(PROJECT["requires-python"]).contains(python[1]):
        found.append(f"Python {python and python[1]}; pyproject.toml asks for {PROJECT['requires-python']}")
    last = {word: rest for word, rest in steps}
    if last.get("USER", "root").split(":")[0] in ("root", "0"):
        found.append("runs as root")
    if '"spanwise", "serve"' not in last.get("ENTRYPOINT", "") or last.get("CMD", "").strip('["]') not in SHIPPED:
        found.append("starts something else than `spanwise serve` with a shipped model")
    port = serve.__kwdefaults__["port"]
    if last.get("EXPOSE") != str(port) or f":{port}/ready" not in last.get("HEALTHCHECK", ""):
        found.append(f"port {port} of `spanwise serve` is not the one that is shown and asked")
    return found


def test_all_holds_everything_that_a_user_may_want():
    wanted = {name for extra in set(EXTRAS) - OF_DEVELOPERS for name in names_in(EXTRAS[extra])}
    assert names_in(EXTRAS["all"]) == wanted
    assert {"serve", "spacy", "ko", "onnx", "track", "all"} <= set(EXTRAS)


def test_every_package_that_the_default_tests_need_is_pinned():
    pinned = {normalised(line.split("==")[0]) for line in (ROOT / "constraints.txt").open()}
    asked = names_in([*PROJECT["dependencies"], *EXTRAS["test"], *EXTRAS["slow"]])
    assert {normalised(name) for name in asked} - pinned == set()


def not_for(python: str, pins: dict[str, str]) -> list[str]:
    """Return the pins whose package, where it is installed, says that it does not run with a version of Python."""
    found = []
    for one in distributions():
        name = normalised(one.metadata["Name"])
        wanted = one.metadata["Requires-Python"] or ""
        if pins.get(name) == one.version and not SpecifierSet(wanted).contains(python):
            found.append(f"{name}=={one.version} needs Python {wanted}")
    return found


def test_what_is_pinned_runs_with_the_oldest_python_that_the_project_names():
    """pip refuses a pin that does not: soupsieve 4.1.3 needs Python 3.11.5, and Debian 12 has 3.11.2."""
    lines = [line.split("==") for line in (ROOT / "constraints.txt").read_text().split()]
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    assert not_for(oldest, {normalised(name): version for name, version in lines}) == []
    numpy = version("numpy")
    assert len(told := not_for("3.3", {"numpy": numpy})) == 1 and told[0].startswith(f"numpy=={numpy} needs Python >=")


def test_the_containerfile_agrees_with_the_project():
    assert wrong_in_containerfile((ROOT / "Containerfile").read_text(), (ROOT / ".dockerignore").read_text()) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("COPY src src", "COPY sources src", "sources: not there"),
        ("COPY src src", "COPY docs docs", ".dockerignore"),
        ("[serve,documents]", "[serves]", "no extra serves"),
        ("-c constraints.txt", "", "pin"),
        ("PYTHON=3.11", "PYTHON=3.9", "Python 3.9"),
        ("USER 10001\n", "", "root"),
        ('"serve", ', "", "something else"),
        ("EXPOSE 8000", "EXPOSE 80", "port"),
    ],
)
def test_a_wrong_containerfile_is_noticed(before, after, told):
    text = (ROOT / "Containerfile").read_text()
    assert before in text
    found = wrong_in_containerfile(text.replace(before, after), (ROOT / ".dockerignore").read_text())
    assert any(told in line for line in found)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist, and with the wheel built from what the sdist holds."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder / "source")  # without its `filter`, which Python 3.11.2 does not know
    (source,) = (folder / "source").iterdir()
    subprocess.run([*build, "-t", "wheel"], cwd=source, check=True)
    return folder


@pytest.mark.slow
def test_the_wheel_is_small_and_holds_the_package_with_its_licences_alone(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        said = archive.read(metadata).decode()
    assert {name.split("/")[0] for name in names} == {"spanwise", metadata.split("/")[0]}
    assert not [name for name in names if re.search(r"(^|/)(tests?|records|__pycache__)/|\.pyc$", name)]
    licences = {name.split("/licenses/")[1] for name in names if "/licenses/" in name}
    assert licences == set(PROJECT["license-files"])
    assert {"spanwise/py.typed", "spanwise/weights/mini/model.safetensors"} <= set(names)
    assert {line.split(": ")[1] for line in said.splitlines() if line.startswith("Provides-Extra")} == set(EXTRAS)


@pytest.mark.slow
def test_the_installed_wheel_answers_outside_the_checkout(built, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python, command = tmp_path / "venv/bin/python", tmp_path / "venv/bin/spanwise"
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")  # all but spanwise is there already
    (wheel,) = built.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True)
    (tmp_path / "my-text").mkdir()
    (tmp_path / "my-text" / "town.txt").write_text(
        "The bridge over the river was built in 1890 by the city of Boston.\n\nThe market sells bread and fish.\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def said(*arguments: object) -> str:
        done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "1890" in said(command, "ask", "my-text/", "When was the bridge built?", "--threshold", "0")
    lines = """import spanwise
context = "The bridge over the river was built in 1890 by the city of Boston."
print(spanwise.pipeline("question-answering")(question="When was the bridge built?", context=context)["answer"])
print(spanwise.__file__)"""
    answer, place = said(python, "-c", lines).splitlines()
    assert "1890" in answer and place.startswith(str(packages))
