"""Every writer of the package goes through one layer of file operations: a fault injected there meets them all."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "spanwise"
LAYER = "runtime/disk.py"
ALLOWED = {  # what is written elsewhere, and why a fault there harms nothing that anybody goes on from
    "cli/main.py": {"os.open"},  # /dev/null, where standard output was closed
    "runtime/lock.py": {"os.open", "mkdir", "write_text", "ftruncate", "pwrite"},  # a lock is held, never read as data
    "runtime/compiled.py": {"mkdir", "rmtree"},  # numba's own cache of compiled code
    "pipelines/given.py": {"save_pretrained"},  # into a temporary folder of this process
    "interop/hub/push.py": {"copyfile", "mkdir", "write_bytes"},  # into a temporary folder, which is sent from there
    "runtime/remote/upload.py": {"makedirs"},  # at an address, where a manifest goes last
    "interop/tensor_files.py": {"chmod"},  # rights of a file that the layer wrote
}
NAMES = {  # methods and functions that change a disk
    "write_text", "write_bytes", "mkdir", "makedirs", "rmdir", "unlink", "touch", "rename", "renames", "symlink_to",
    "hardlink_to", "rmtree", "copytree", "copyfile", "copy2", "move", "tofile", "removedirs", "ftruncate", "pwrite",
    "chmod", "fsync",
}  # fmt: skip
LIBRARIES = {"np.save", "np.savez", "torch.save", "os.open", "os.remove", "os.replace", "shutil.copy", "os.write"}


def writes_of(tree: ast.AST) -> set[str]:
    """The names of the calls in a module that change a disk; those on `DISK` and `fs` are the layer's own."""
    found = set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name):
            if call.func.id == "open" and _is_writing(call, 1):
                found.add("open")
            continue
        if not isinstance(call.func, ast.Attribute):
            continue
        owner, name = ast.unparse(call.func.value), call.func.attr
        if owner in ("DISK", "fs", "self.fs"):
            continue
        if f"{owner}.{name}" in LIBRARIES and not (name == "save" and _is_open_file(call)):
            found.add(f"{owner}.{name}")
        elif name in NAMES or (name == "replace" and len(call.args) == 1 and not call.keywords and owner != "self"):
            found.add(name)
        elif name == "open" and _is_writing(call, 0):
            found.add("open")
        elif name in ("save_file", "save_pretrained"):
            found.add(name)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "DISK.write_by_name":
            found -= {ast.unparse(inner.func).split(".")[-1] for inner in ast.walk(call) if isinstance(inner, ast.Call)}
    return found


def _is_writing(call: ast.Call, place: int) -> bool:
    given = [word.value for word in call.keywords if word.arg == "mode"] + call.args[place : place + 1]
    modes = [node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return any(set(mode) & set("wax+") and set(mode) <= set("rwaxbt+") for mode in modes)


def _is_open_file(call: ast.Call) -> bool:
    return bool(call.args) and ast.unparse(call.args[0]) == "file"


def test_every_writer_uses_the_one_layer_of_file_operations():
    modules = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    found = {name: writes_of(ast.parse(path.read_text("utf-8"))) for name, path in modules.items() if name != LAYER}
    past = {name: writes - ALLOWED.get(name, set()) for name, writes in found.items()}
    assert not {name: sorted(writes) for name, writes in past.items() if writes}, f"these write past {LAYER}"


@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'w')", "path.open('ab')", "path.write_text('x')", "os.replace(a, b)", "a.replace(b)",
        "np.save(path, array)", "shutil.rmtree(path)", "path.unlink()", "os.open(path, flags)", "open(path, mode='x')",
    ],
)  # fmt: skip
def test_the_search_for_writers_sees_each_way_to_write(code):
    assert writes_of(ast.parse(code))


@pytest.mark.parametrize(
    "code", ["open(path, 'rb')", "path.read_text()", "text.replace('a', 'b')", "DISK.replace(a, b)", "np.save(file, a)"]
)
def test_the_search_for_writers_leaves_readers_and_the_layer_alone(code):
    assert not writes_of(ast.parse(code))
