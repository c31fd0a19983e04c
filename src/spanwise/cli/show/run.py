"""`spanwise show run`: how a run went, or is going."""

from pathlib import Path
from typing import Any

from spanwise.cli.console import print_json, print_pairs, print_table
from spanwise.cli.options.budget import format_seconds


def show_run(run: Path, /, *, json: bool = False) -> None:
    """Show how a run went or is going: state, losses, speed, where its time went, checkpoints.

    Parameters
    ----------
    run
        Run folder.
    json
        Print one JSON object.
    """
    from spanwise.reporting.runs import read_run
    from spanwise.training.run_folder import RunFolder

    folder = RunFolder(run)
    read = read_run(run)
    last = read.steps[-1] if read.steps else {}
    evaluation = read.evaluations[-1]["evaluation"] if read.evaluations else {}
    found: dict[str, Any] = {
        "path": str(run),
        "recipe": read.recipe.get("name") or read.recipe.get("task"),
        "state": folder.state,
        "step": last.get("step", 0),
        "total_steps": last.get("total_steps"),
        "tokens": last.get("tokens", 0),
        "epochs": last.get("epochs", last.get("epoch")),
        "seconds": last.get("seconds", 0.0),
        "tokens_per_second": read.tokens_per_second,
        "losses": last.get("losses", {}),
        "evaluation": evaluation,
        "seconds_by_section": read.seconds_by_section,
        "flop_utilisation": last.get("flop_utilisation"),
        "checkpoints": sorted(path.name for path in folder.checkpoints.glob("step-*")),
        "final": str(folder.final) if folder.state == "finished" else None,
    }
    if json:
        print_json(found)
        return
    steps = f"{found['step']:,}" + (f" of {found['total_steps']:,}" if found["total_steps"] else "")
    losses = ", ".join(f"{name} {value:.3f}" for name, value in found["losses"].items() if value is not None)
    words = {"new": "not begun", "begun": "not finished", "finished": "finished"}
    pairs = [
        ("Run", f"{run} ({words[folder.state]})"),
        ("Recipe", found["recipe"]),
        ("Steps", steps),
        ("Tokens", found["tokens"]),
        ("Epochs", _epochs(found["epochs"])),
        ("Time", format_seconds(found["seconds"])),
        ("Speed", f"{found['tokens_per_second']:,.0f} real tokens per second" if found["tokens_per_second"] else None),
        ("Losses", losses or None),
        ("Checkpoints", ", ".join(found["checkpoints"]) or None),
        ("Model", found["final"]),
    ]
    print_pairs(pair for pair in pairs if pair[1] is not None)
    total = sum(found["seconds_by_section"].values())
    if total:
        rows = [[name, f"{took:.1f} s", f"{took / total:.0%}"] for name, took in found["seconds_by_section"].items()]
        print_table(["part", "time", "share"], rows)
    if evaluation:
        print_table(["evaluation", "value"], list(evaluation.items()))


def _epochs(epochs: float | dict[str, float] | None) -> str | None:
    """Say how often the text was read; for a mixture of stores, each of them."""
    if isinstance(epochs, dict):
        return ", ".join(f"{name} {value:.2f}" for name, value in epochs.items())
    return None if epochs is None else f"{epochs:.2f}"
