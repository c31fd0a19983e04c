"""`spanwise show study`: the studies there are, or one of them: its arms, what they differ in, its probes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spanwise.cli.console import print_json, print_pairs, print_table, say
from spanwise.cli.options.budget import format_seconds

if TYPE_CHECKING:
    from spanwise.studies.study import Study


def show_study(study: str | None = None, /, *, json: bool = False) -> None:
    """List the studies, or show one: its question, its arms and what they differ in, its probes and their files.

    Parameters
    ----------
    study
        A name, or my_study.py:my_function. Default: list all.
    json
        Print one JSON object.
    """
    from spanwise.studies.catalogue import descriptions, find_study
    from spanwise.studies.probes import PROBES
    from spanwise.studies.study import check_study, difference_from_first

    if study is None:
        if json:
            probes = {name: part().what for name, part in PROBES.items()}
            print_json({"studies": descriptions(), "probes": probes})
            return
        print_table(["study", ""], list(descriptions().items()), title="Studies")
        say("")
        print_table(["probe", ""], [[name, part().what] for name, part in PROBES.items()], title="Probes")
        say("")
        say("One of them: spanwise show study NAME")
        return
    found = find_study(study)
    check_study(found)
    arms = {
        name: "; ".join(f"{path}: {a} → {b}" for path, a, b in difference_from_first(found, name)) or "(the first)"
        for name in found.arms
    }
    needs = {
        probe.name: [*(["--valid"] if probe.needs_valid else []), *(file.patterns[0] for file in probe.files.values())]
        for probe in found.found_probes
    }
    measured = [{"name": p.name, "what": p.what, "needs": ", ".join(needs[p.name])} for p in found.found_probes]
    if json:
        record = {"name": found.name, "question": found.question, "budget": _budget(found)}
        print_json({**record, "arms": arms, "probes": measured, "notes": list(found.notes)})
        return
    print_pairs([("Study", found.name), ("Question", found.question), ("Budget", _budget(found))])
    say("")
    print_table(["arm", "differs from the first in"], list(arms.items()))
    say("")
    print_table(["probe", "", "needs"], [list(probe.values()) for probe in measured])
    for note in found.notes:
        say(f"- {note}")


def _budget(study: "Study") -> str:
    """Say what is equal for all arms."""
    if study.compute is not None:
        return f"{study.compute:.3g} operations per arm"
    if study.seconds is not None:
        return f"{format_seconds(study.seconds)} of training per arm, in tokens by the rate of each on this machine"
    if isinstance(study.tokens, Mapping):
        return "tokens: " + ", ".join(f"{arm} {tokens:,}" for arm, tokens in study.tokens.items())
    first = next(iter(study.arms.values()))
    return f"{study.tokens or first.training.max_tokens:,} tokens per arm"
