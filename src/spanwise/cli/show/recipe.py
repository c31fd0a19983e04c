"""`spanwise show recipe`: the recipes there are, or one of them."""

from typing import Annotated, Any

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_pairs, print_table, say

TIED = {"mlm", "sbo", "clm", "generator"}  # heads that end in the word table


def show_recipe(
    recipe: str | None = None,
    /,
    *,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    vocab_size: int | None = None,
    json: bool = False,
) -> None:
    """List the recipes, or show one: its parts, data path, size, cost and differences from the paper.

    Parameters
    ----------
    recipe
        A name, or my_recipes.py:my_function. Default: list all.
    overrides
        Change a value first: path=value. May be repeated.
    vocab_size
        Pieces of the vocabulary to count with. Default: that of the tokenizer the recipe would learn.
    json
        Print one JSON object.
    """
    from spanwise.config import override
    from spanwise.pretraining.describe import describe_recipe
    from spanwise.recipes import families, find

    if recipe is None:
        listed = {
            family: [(describe_recipe(find(name)), what) for name, what in recipes.items()]
            for family, recipes in families().items()
        }
        if json:
            print_json([_summary(row, family) for family, rows in listed.items() for row, _ in rows])
        else:
            _print_families(listed)
        return
    found = describe_recipe(override(find(recipe), overrides or []), vocab_size)
    if json:
        print_json(found)
    else:
        _print_recipe(found)


def _summary(row: dict[str, Any], family: str) -> dict[str, Any]:
    return {"family": family, **{key: row[key] for key in ("name", "parameters", "flops_per_token")}}


def _print_families(listed: dict[str, list[tuple[dict[str, Any], str]]]) -> None:
    for family, rows in listed.items():
        cells = [[row["name"], _shape(row), _millions(row["parameters"]["total"]), what] for row, what in rows]
        print_table(["recipe", "encoder", "parameters", ""], cells, title=family)
        say("")
    say("One of them: spanwise show recipe NAME")


def _print_recipe(found: dict[str, Any]) -> None:
    parameters, memory = found["parameters"], found["memory"]
    heads = ", ".join(f"{name} {_millions(count)}" for name, count in parameters["by_head"].items())
    tied = " (decoders are tied to the word table)" if set(parameters["by_head"]) & TIED else ""
    print_pairs(
        [
            ("Recipe", found["name"]),
            ("Data path", "\n".join(found["data_path"])),
            ("Parameters", f"{_millions(parameters['total'])}"),
            ("  encoder", f"{_millions(parameters['encoder'])}, {_millions(parameters['word_embedding'])} words"),
            ("  heads", f"{heads}{tied}"),
            ("Cost", f"{found['flops_per_token'] / 1e6:,.0f} MFLOP a token, forward and backward"),
            ("A step", f"{found['tokens_per_step']:,} real tokens in {found['packs_per_step']:,} packs"),
            ("Memory", f"{_gigabytes(memory['parameters_and_optimizer'])} weights, gradients and moments"),
            ("", f"about {_gigabytes(memory['activations_estimate'])} activations of one pack (estimate, fp32)"),
        ]
    )
    if found["differences"]:
        say("Differs from the paper:")
        for line in found["differences"]:
            say(f"- {line}")


def _shape(row: dict[str, Any]) -> str:
    encoder = row["recipe"]["encoder"]
    return f"{encoder['num_layers']} x {encoder['hidden_size']}"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.1f} M" if count >= 100_000 else f"{count:,}"


def _gigabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:,.0f} MB"
