"""`python -m spanwise` is the command, and starts quickly."""

import subprocess
import sys


def test_the_module_runs_the_command_and_passes_its_status_on():
    done = subprocess.run([sys.executable, "-m", "spanwise", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.strip()[0].isdigit()


def test_help_imports_no_torch_and_costs_little_time():
    # processor seconds of the child, so that a busy machine does not decide; half a second is the promise
    script = (
        "import sys, time; from spanwise.cli.main import main; main(['--help']);"
        "assert 'torch' not in sys.modules and 'numba' not in sys.modules; print(time.process_time(), file=sys.stderr)"
    )
    took = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr)
        for _ in range(2)
    ]
    assert min(took) < 0.5
