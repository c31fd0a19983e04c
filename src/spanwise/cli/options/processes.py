"""`--processes N`: the same command once more, as several processes of this machine."""

import sys


def is_one_of_several() -> bool:
    """Return whether a launcher started this process as one of several; then it leaves when its launcher is killed."""
    from spanwise.runtime.processes.distributed import world_of_environment
    from spanwise.runtime.processes.launch import leave_with_launcher

    leave_with_launcher()
    return world_of_environment().size > 1


def is_leader() -> bool:
    """Return whether this process is the one that speaks."""
    from spanwise.runtime.processes.distributed import world_of_environment

    return world_of_environment().is_leader


def launch_again(num_processes: int) -> int:
    """Run this command as `num_processes` processes, the machine's cores shared among them; return the exit status."""
    from spanwise.runtime.machine import num_usable_cores
    from spanwise.runtime.processes.launch import launch

    num_threads = max(1, num_usable_cores() // num_processes)
    return launch([sys.executable, "-m", "spanwise", *sys.argv[1:]], num_processes, num_threads)
