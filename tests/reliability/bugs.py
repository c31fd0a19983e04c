"""Seeded bugs: each is put into a scratch copy of the package, where the test that guards against it must turn red.

The tests themselves must be green on the copy without a bug; a test that could not be collected proves nothing.
"""

import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.figure import Figure

ROOT = Path(__file__).parents[2]
FILES, CHECKPOINT = "runtime/files.py", "training/checkpoint.py"
TEST_FILES = "tests/runtime/test_files.py::test_"
POWER_CUT = TEST_FILES + "no_power_cut_loses_an_acknowledged_checkpoint_or_passes_a_damaged_one"
SAMPLE = "tests/reliability/test_sample.py::test_"
REAL_RUN = SAMPLE + "no_power_cut_in_a_real_run_loses_a_save_or_passes_a_wrong_one"
TEST_CHECKPOINT = "tests/training/test_checkpoint.py::test_"


@dataclass(frozen=True)
class Bug:
    """One line (or a few) of a module replaced, and the test that must notice."""

    what: str
    file: str
    old: str
    new: str
    test: str


BUGS = (
    Bug("a file's fsync is forgotten", FILES, "        fs.fsync_file(temporary / name)\n", "", POWER_CUT),
    Bug("the manifest's fsync is forgotten", FILES, "    fs.fsync_file(temporary / MANIFEST_NAME)\n", "", POWER_CUT),
    Bug("the new folder's fsync is forgotten", FILES, "    fs.fsync_folder(temporary)\n", "", POWER_CUT),
    Bug("the parent's fsync is forgotten", FILES, "    fs.fsync_folder(target.parent)\n    if old", "    if old",
        POWER_CUT),
    Bug("a run folder's own name is left to chance", "training/run_folder.py",
        "        make_folder_durably(run.path)", "        run.path.mkdir(parents=True, exist_ok=True)", REAL_RUN),
    Bug("the log is not forced to the disk before a checkpoint", CHECKPOINT, "            self.log.sync()",
        "            pass", REAL_RUN),
    Bug("content is not compared with its hash", FILES, '        if digest != expected["sha256"]:', "        if False:",
        TEST_FILES + "every_damage_is_named_with_its_file"),
    Bug("a manifest may name files outside", FILES, "        parts = name.split(\"/\")\n", "        continue\n",
        TEST_FILES + "a_manifest_that_names_a_file_outside_is_refused"),
    Bug("a line after a cut one is glued to it", FILES, '(b"\\n" if is_cut else b"")', 'b""',
        TEST_FILES + "a_file_is_replaced_whole_and_lines_after_a_cut_one_stay_whole"),
    Bug("the oldest checkpoint is taken", CHECKPOINT, "reverse=True", "reverse=False",
        TEST_CHECKPOINT + "a_damaged_checkpoint_is_named_and_the_one_before_it_taken"),
    Bug("one checkpoint too few is kept", CHECKPOINT, "+ keep :]:", "+ keep - 1 :]:",
        TEST_CHECKPOINT + "the_oldest_go_only_when_newer_ones_are_whole"),
    Bug("moments are not restored", CHECKPOINT, "    set_state(optimizer, state)", "    set_state(optimizer, {})",
        TEST_CHECKPOINT + "parameters_buffers_and_moments_come_back_bit_for_bit"),
    Bug("moments are stored in bfloat16", CHECKPOINT, "= _host(value)\n", "= _host(value).bfloat16().float()\n",
        TEST_CHECKPOINT + "parameters_buffers_and_moments_come_back_bit_for_bit"),
    Bug("weights that are not finite are saved", CHECKPOINT,
        "torch.isfinite(tensor).all()", "torch.isfinite(tensor).any()",
        TEST_CHECKPOINT + "a_poisoned_tensor_is_never_saved_and_the_last_good_checkpoint_stays"),
    Bug("another recipe may go on", CHECKPOINT, "not in HARMLESS_OPTIONS\n    ]", "in ()\n    ]",
        TEST_CHECKPOINT + "another_identity_is_refused_with_every_difference_and_harmless_options_may_differ"),
    Bug("dropout does not depend on the step", "training/step.py", '"dropout", step,', '"dropout", 0 * step,',
        "tests/training/test_step.py::test_the_keys_of_dropout_depend_on_seed_step_and_sequence_alone"),
    Bug("targets are counted per process", "training/reduce.py",
        "        return _total([counts for _, counts in everyone])", "        return _total(packs)",
        "tests/training/test_reduce.py::test_two_processes_train_the_very_bits_of_one"),
    Bug("every process computes all packs", "pretraining/mixtures/steps.py",
        "range(first + rank, first", "range(first, first",
        SAMPLE + "samples_come_in_one_order_however_they_are_dealt_out"),
    Bug("all epochs have one order", "data/order.py", '"order", epoch)', '"order", 0 * epoch)',
        "tests/data/test_order.py::test_seed_and_epoch_both_change_the_order"),
    Bug("measures of a study are not compared with their checksum", "studies/folder.py",
        "and checksum != checksum_of(record):", "and checksum == 1:",
        "tests/studies/test_folder.py::test_a_record_with_an_edited_digit_is_refused_and_one_of_an_earlier_version_is_read"),
    Bug("lines of a plan are not compared with their checksums", "training/plan.py",
        '(is_protected and record["checksum"] !=', '(False and record["checksum"] !=',
        "tests/training/test_plan.py::test_an_edited_line_is_refused_and_never_trained"),
    Bug("a lock is a file that is there", "runtime/lock.py",
        "        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", "        pass\n",
        "tests/runtime/test_lock.py::test_a_second_run_is_refused_with_the_owner_and_may_start_once_it_was_killed"),
    Bug("deep JSON ends in a traceback", "runtime/json_text.py",
        "    except RecursionError:", "    except ZeroDivisionError:",
        "tests/runtime/test_json_text.py::test_what_is_no_json_is_a_value_error"),
)  # fmt: skip


def copy_package(folder: Path) -> Path:
    """A copy of the package without its weights, which are linked; returns its `src`."""
    source = ROOT / "src" / "spanwise"
    target = folder / "src" / "spanwise"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "mini", "nano-ko"))
    for name in ("mini", "nano-ko"):
        (target / "weights" / name).symlink_to(source / "weights" / name)
    return folder / "src"


def changed(source: str, bug: Bug) -> str:
    """A module's text with the bug in it. Raises: ValueError where its line is there no more, or more than once."""
    if source.count(bug.old) != 1:
        raise ValueError(f"{bug.file} has {source.count(bug.old)} times {bug.old!r}: {bug.what} can't be seeded")
    return source.replace(bug.old, bug.new)


def status_of(src: Path, *tests: str) -> tuple[int, str]:
    """The exit status of pytest on the copy, and its last words."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout[-600:] + done.stderr[-300:]


def seeded_bugs(scratch: Path, seed: int, *, only: int | None = None) -> Figure:
    """Seed each bug (or so many of them by chance) and ask its test; the copy without bugs must pass all tests."""
    figure = Figure("seeded bugs in a scratch copy: all red")
    chosen = BUGS if only is None else random.Random(seed).sample(BUGS, only)
    src = copy_package(scratch)
    status, said = status_of(src, *sorted({bug.test for bug in chosen}))
    figure.check(status == 0, f"the tests are not green without a bug: {said}")
    figure.tried = 0
    for bug in chosen:
        path = src / "spanwise" / bug.file
        whole = path.read_text("utf-8")
        path.write_text(changed(whole, bug), "utf-8")
        status, said = status_of(src, bug.test)
        figure.check(status == 1, f"{bug.what}: pytest ended with {status}: {said[-300:]}")
        path.write_text(whole, "utf-8")
    return figure
