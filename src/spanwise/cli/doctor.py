"""`spanwise doctor`: what this machine has, what will be used, what is missing."""

from pathlib import Path

from spanwise.cli.console import print_json, print_pairs, say


def doctor(*, out: Path = Path("."), json: bool = False) -> int:
    """Show what this machine has, what will be used and what is missing.

    Parameters
    ----------
    out
        Folder that runs would be written to: its disk is looked at.
    json
        Print one JSON object.
    """
    from spanwise.runtime.machine import survey_machine

    machine = survey_machine(out)
    if json:
        print_json(machine.to_record())
    else:
        memory = "not known" if machine.memory_gb is None else f"{machine.memory_gb:.1f} GB"
        free = "" if machine.memory_free_gb is None else f", {machine.memory_free_gb:.1f} GB free"
        print_pairs(
            [
                ("Python", f"{machine.python} on {machine.system}"),
                ("torch", machine.torch),
                ("Device", f"{machine.device}{' (' + ', '.join(machine.gpus) + ')' if machine.gpus else ''}"),
                ("Precision", machine.precision),
                ("Cores", f"{machine.num_cores} usable, torch uses {machine.num_threads} threads"),
                ("Memory", memory + free),
                ("Disk", f"{machine.disk_free_gb:.1f} GB free"),
                ("Compiled loops", machine.compiled_cache or "compiled anew in each process"),
                ("Large pages", machine.huge_pages),
                ("Extras", ", ".join(f"{k} {'installed' if v else 'absent'}" for k, v in machine.extras.items())),
            ]
        )
        for line in machine.advice():
            say(f"- {line}")
        if not machine.advice():
            say("Nothing is missing.")
    return 1 if machine.missing else 0
