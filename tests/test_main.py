"""`python -m spanwise` is the command, and starts quickly."""

import subprocess
import sys


def test_the_module_runs_the_command_and_passes_its_status_on():
    done = subprocess.run([sys.executable, "-m", "spanwise", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.strip()[0].isdigit()


def test_help_imports_little_and_so_costs_little_time():
    # modules are counted, as a busy machine takes long for few: of 380, a third of a second; numpy alone has 150
    script = (
        "import sys; from spanwise.cli.main import main; main(['--help']);"
        "print(*{name.partition('.')[0] for name in sys.modules}, len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *packages, count = done.stderr.split()
    assert not {"torch", "numba", "numpy", "transformers"} & set(packages)
    assert int(count) < 500
