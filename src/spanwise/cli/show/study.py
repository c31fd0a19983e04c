"""`spanwise show study`: the studies there are, or one of them: its arms, what they differ in, its probes."""

from collections.abc import Mapping
from typing import Any

from spanwise.cli.console import print_json, print_pairs, print_table, say
from spanwise.cli.options.budget import format_seconds


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
    record = _record(found)
    if json:
        print_json(record)
        return
    print_pairs([("Study", record["name"]), ("Question", record["question"]), ("Budget", record["budget"])])
    say("")
    print_table(["arm", "differs from the first in"], [[name, words] for name, words in record["arms"].items()])
    say("")
    print_table(["probe", "", "needs"], [[p["name"], p["what"], p["needs"]] for p in record["probes"]])
    for note in record["notes"]:
        say(f"- {note}")


def _record(study: Any) -> dict[str, Any]:
    from spanwise.studies.study import arm_difference, check_study

    check_study(study)
    first = next(iter(study.arms.values()))
    arms = {
        name: "; ".join(f"{path}: {a} → {b}" for path, a, b in arm_difference(first, recipe)) or "(the first)"
        for name, recipe in study.arms.items()
    }
    if study.compute is not None:
        budget = f"{study.compute:.3g} operations per arm"
    elif study.seconds is not None:
        budget = f"{format_seconds(study.seconds)} of training per arm, in tokens by the rate of each on this machine"
    elif isinstance(study.tokens, Mapping):
        budget = "tokens: " + ", ".join(f"{arm} {tokens:,}" for arm, tokens in study.tokens.items())
    else:
        budget = f"{study.tokens or first.training.max_tokens:,} tokens per arm"
    probes = [
        {
            "name": probe.name,
            "what": probe.what,
            "needs": ", ".join(
                [*(["--valid"] if probe.needs_valid else []), *(file.patterns[0] for file in probe.files.values())]
            ),
        }
        for probe in study.found_probes
    ]
    return {
        "name": study.name,
        "question": study.question,
        "budget": budget,
        "arms": arms,
        "probes": probes,
        "notes": list(study.notes),
    }
