"""Guards 1 and 2: imports go down the floors only, tests mirror the source, files stay small."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "spanwise"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 600
MAX_BYTES = 52 * 2**20  # of all tracked files
FORBIDDEN = {"transformers", "torchvision", "datasets", "evaluate"}
RUNS_TRANSFORMERS = Path("interop/auto/model.py")  # encoders of other kinds; imported inside a function, an extra
COMPOSERS = (
    "quickstart",
    "studies",
    "extraction",
)  # the folders of floor 5 that may use their neighbours (docs/architecture.md)


def read_floors() -> dict[str, int]:
    """Return the floor of each folder and file, from the table in docs/architecture.md."""
    floors = {}
    for row in re.findall(r"^\| (\d) \| (.+) \|$", (ROOT / "docs" / "architecture.md").read_text("utf-8"), re.M):
        for name in re.findall(r"`(\w+)(?:/|\.py)`", row[1]):
            floors[name] = int(row[0])
    return floors


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Return (line, dotted name) of every import, those inside functions included."""
    found = []
    package = ("spanwise", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            module = f"{base}{node.module or ''}".rstrip(".")
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "spanwise" else [module]
            found += [(node.lineno, name) for name in names]
    return found


def place_of(parts: tuple[str, ...]) -> str:
    """Return the folder or top-level module of a path below the package."""
    return parts[0].removesuffix(".py")


def broken_floors(importer: str, imported: list[tuple[int, str]], floors: dict[str, int]) -> list[str]:
    """Return what is wrong with the imports of a module that lives in folder `importer`."""
    wrong = []
    for line, name in imported:
        parts = name.split(".")
        if parts[0] != "spanwise" or len(parts) < 2 or parts[1] not in floors or parts[1] == importer:
            continue
        level, other = floors[importer], floors[parts[1]]
        composes = importer in COMPOSERS and parts[1] not in COMPOSERS and level == other
        neighbours = level == other and level > 0 and not composes
        if other > level or neighbours:
            wrong.append(f"line {line}: {importer} (floor {level}) imports {name} (floor {other})")
    return wrong


def test_every_folder_stands_on_a_floor():
    floors = read_floors()
    places = {place_of(path.relative_to(PACKAGE).parts) for path in MODULES} - {"__init__", "__main__"}
    assert len(floors) >= 15
    assert places <= set(floors), f"not in docs/architecture.md: {sorted(places - set(floors))}"


def test_imports_go_down_the_floors_only():
    floors, wrong = read_floors(), []
    for path in MODULES:
        relative, imported = path.relative_to(PACKAGE), imports_of(path)
        place = place_of(relative.parts)
        forbidden = FORBIDDEN - ({"transformers"} if relative == RUNS_TRANSFORMERS else set())
        found = [f"line {line}: {name}, never in src/" for line, name in imported if name.split(".")[0] in forbidden]
        if place not in ("__init__", "__main__"):  # the package's own front door re-exports from every floor
            found += broken_floors(place, imported, floors)
        wrong += [f"{relative}: {one}" for one in found]
    assert not wrong


def test_transformers_is_imported_inside_functions_of_its_one_file():
    tree = ast.parse((PACKAGE / RUNS_TRANSFORMERS).read_text("utf-8"))
    lines = [line for line, name in imports_of(PACKAGE / RUNS_TRANSFORMERS) if name.split(".")[0] == "transformers"]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert lines and all(any(f.lineno < line <= (f.end_lineno or 0) for f in functions) for line in lines)


def test_the_floor_guard_notices_each_kind_of_wrong_import():
    floors = read_floors()
    assert broken_floors("nn", [(1, "spanwise.training.loop")], floors)
    assert broken_floors("tasks", [(1, "spanwise.pretraining.packs")], floors)
    assert broken_floors("recipes", [(1, "spanwise.pipelines.qa")], floors)
    assert not broken_floors("training", [(1, "spanwise.data.batch"), (2, "torch"), (3, "spanwise.errors")], floors)
    assert not broken_floors("quickstart", [(1, "spanwise.recipes.spanbert")], floors)
    assert not broken_floors("studies", [(1, "spanwise.reporting.page")], floors)
    assert broken_floors("studies", [(1, "spanwise.quickstart.run")], floors)


def test_every_module_has_its_test_file():
    wrong = []
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        mirror = ROOT / "tests" / relative.parent / f"test_{path.name.strip('_').replace('main__.py', 'main.py')}"
        if path.name != "__init__.py" and not mirror.is_file():
            wrong.append(f"{relative} has no {mirror.relative_to(ROOT)}")
        elif path.name != "__init__.py" and "def test_" not in mirror.read_text("utf-8"):
            wrong.append(f"{mirror.relative_to(ROOT)} tests nothing")
    assert not wrong


def test_no_file_is_longer_than_it_may_be():
    folders = ["src", "tests", "benchmarks", "examples", "scripts", "records"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert len(lengths) > 50
    assert not {name: length for name, length in lengths.items() if length > MAX_LINES}


def test_all_tracked_files_together_stay_small():
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        files = [ROOT / name for name in listed.split("\0") if name]
    else:  # an archive that was unpacked has tracked files alone, beside what starts with a dot
        files = [
            path for path in ROOT.rglob("[!.]*") if not any(part[0] == "." for part in path.relative_to(ROOT).parts)
        ]
    assert len(files) > 1_000
    assert sum(path.stat().st_size for path in files if path.is_file()) < MAX_BYTES


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules of which each can be reached from every other one."""
    reached = {name: set(inner) for name, inner in edges.items()}
    for through in edges:
        for name in edges:
            if through in reached[name]:
                reached[name] |= reached[through]
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in edges}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def test_no_two_modules_import_each_other_not_even_for_types():
    names = {".".join(("spanwise", *p.relative_to(PACKAGE).with_suffix("").parts)): p for p in MODULES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items() if path.parent != PACKAGE}
    edges: dict[str, set[str]] = {}
    for name, path in names.items():
        found = [imported for _, imported in imports_of(path)]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                found += [f"{node.module}.{alias.name}" for alias in node.names]
        edges[name] = {imported for imported in found if imported in names} - {name}
        if any(imported.startswith(f"{package}.") for package in edges[name] for imported in edges[name]):
            edges[name] -= {p for p in edges[name] if any(other.startswith(f"{p}.") for other in edges[name])}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert not circles(edges)


def test_nothing_is_left_unfinished_in_the_source():
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    found = [str(path.relative_to(ROOT)) for path in MODULES if unfinished.search(path.read_text("utf-8"))]
    assert not found


def test_folders_stay_small_enough_to_survey():
    folders = {path.parent for path in MODULES}
    crowded = {str(f.relative_to(ROOT)): len(list(f.glob("*.py"))) for f in folders if len(list(f.glob("*.py"))) > 20}
    assert not crowded
