"""`spanwise show recipe`: the recipes there are, or one of them."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_pairs, print_table, say
from spanwise.cli.options.budget import format_seconds, parse_budget
from spanwise.cli.options.ranges import VocabularySizeOrNone
from spanwise.cli.show.task_recipes import show_task_recipes
from spanwise.errors import ConfigError
from spanwise.runtime.files import JsonObject

TIED = {"mlm", "sbo", "clm", "generator"}  # heads that end in the word table


def show_recipe(
    recipe: str | None = None,
    /,
    *,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    vocab_size: VocabularySizeOrNone = None,
    data: Path | None = None,
    budget: str | None = None,
    json: bool = False,
) -> None:
    """List the recipes, or show one: its parts, data path, size, cost and differences from the paper.

    With --data it is also tried on this machine for some seconds: how long a run on that store takes, and how much
    memory; with --budget, how far it comes in that time.

    Parameters
    ----------
    recipe
        A name, or my_recipes.py:my_function; a task for its recipes of fine-tuning. Default: list all.
    overrides
        Change a value first: path=value. May be repeated.
    vocab_size
        Pieces of the vocabulary to count with. Default: that of the tokenizer the recipe would learn.
    data
        A token store to try the recipe on.
    budget
        Wall-clock time in place of the recipe's own length, such as 20min; needs --data.
    json
        Print one JSON object.
    """
    if data is None and budget is not None:
        raise ConfigError("--budget needs a store to measure with: add --data STORE, as prepare makes it.")
    if data is not None and recipe is None:
        raise ConfigError("--data tries one recipe: name it, as in `spanwise show recipe spanbert-mini --data STORE`.")
    if recipe is None and (overrides or vocab_size is not None):
        raise ConfigError("--set and --vocab-size are about one recipe: name it, such as spanbert-mini.")
    if data is not None and vocab_size is not None:
        raise ConfigError("--data has a vocabulary of its own; leave --vocab-size out, or --data.")
    seconds = None if budget is None else parse_budget(budget)
    if recipe is None:
        _list_recipes(json)
        return
    from spanwise.config import override
    from spanwise.pretraining.describe import describe_recipe
    from spanwise.recipes import find
    from spanwise.tasks.registry import TASKS
    from spanwise.training.plan import with_one_length

    if recipe in TASKS:
        if data is not None or vocab_size is not None:
            raise ConfigError(f"{recipe} is a task, and no store is tried with it; leave --data and --vocab-size out.")
        show_task_recipes(recipe, overrides or [], json=json)
        return
    chosen = override(find(recipe), with_one_length(overrides or []))
    if data is None:
        found = describe_recipe(chosen, vocab_size)
    else:
        chosen, vocab_size, tried = _try_out(chosen, overrides or [], data, seconds)
        found = {**describe_recipe(chosen, vocab_size), "here": tried}
    if json:
        print_json(found)
    else:
        _print_recipe(found)


def _list_recipes(json: bool) -> None:
    from spanwise.pretraining.describe import describe_recipe
    from spanwise.recipes import families, find

    listed = {
        family: [(describe_recipe(find(name)), what) for name, what in recipes.items()]
        for family, recipes in families().items()
    }
    if json:
        names = ("name", "parameters", "flops_per_token")
        rows = [(family, row) for family, rows in listed.items() for row, _ in rows]
        print_json([{"family": family, **{name: row[name] for name in names}} for family, row in rows])
        return
    for family, family_rows in listed.items():
        cells = [[row["name"], _shape(row), _millions(row["parameters"]["total"]), what] for row, what in family_rows]
        print_table(["recipe", "encoder", "parameters", ""], cells, title=family)
        say("")
    say("One of them: spanwise show recipe NAME")


def _try_out(recipe: Any, overrides: list[str], data: Path, seconds: float | None) -> tuple[Any, int, JsonObject]:
    """The recipe with its length, the size of the store's vocabulary, and what this machine makes of both."""
    from dataclasses import asdict

    from spanwise.data.token_store import TokenStore
    from spanwise.pretraining.run import settled
    from spanwise.reporting.calibrate import calibrate

    recipe = settled(recipe, overrides=overrides, budget=seconds)
    store = TokenStore.open(data)
    measured = calibrate(recipe, store)
    speed = {"step_seconds": measured.step_seconds, "tokens_per_second": measured.tokens_per_second}
    return recipe, store.vocabulary.size, {**asdict(measured), **speed, "run": measured.predict(recipe)}


def _print_recipe(found: JsonObject) -> None:
    from spanwise.pretraining.describe import step_in_words

    parameters, memory = found["parameters"], found["memory"]
    step = step_in_words(found["tokens_per_step"], found["most_tokens_per_step"])
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
            ("A step", f"{step} in {_packs(found)}"),
            ("Memory", f"{_gigabytes(memory['parameters_and_optimizer'])} weights, gradients and moments"),
            ("", f"about {_gigabytes(memory['activations_estimate'])} activations of one pack (estimate, fp32)"),
            ("", f"about {_gigabytes(memory['activations_again_estimate'])} where they are computed again"),
        ]
    )
    if "here" in found:
        here, run = found["here"], found["here"]["run"]
        print_pairs(
            [
                ("Here", f"{here['tokens_per_second']:,.0f} real tokens/s, {here['step_seconds']:.3g} s a step"),
                ("", f"{here['device']}, {here['precision']}, {here['threads']} threads, measured on this store"),
                ("Memory", f"{_gigabytes(run['memory'])} at the most (measured)"),
                ("A run", f"{format_seconds(run['seconds'])} by {run['length']}, evaluation and saving not counted"),
                ("", f"{run['steps']:,} steps, {run['tokens']:,} tokens, {run['epochs']:.3g} epochs of the store"),
            ]
        )
    if found["differences"]:
        say("Differs from the paper:")
        for line in found["differences"]:
            say(f"- {line}")


def _packs(found: JsonObject) -> str:
    """How many packs carry a step, on a CPU and on a GPU, and what happens where memory is too small."""
    packs = found["packs"]
    if packs != "auto":
        return f"{packs:,} pack(s), by batch.packs"
    own = f"{found['packs_per_step']:,} pack(s) of at most {found['recipe']['batch']['max_tokens']:,}"
    return f"{own} on a CPU; on a GPU as few as its memory holds, activations computed again where need be"


def _shape(row: JsonObject) -> str:
    encoder = row["recipe"]["encoder"]
    return f"{encoder['num_layers']} x {encoder['hidden_size']}"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.1f} M" if count >= 100_000 else f"{count:,}"


def _gigabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:.1f} GB" if num_bytes >= 1e9 else f"{num_bytes / 1e6:,.0f} MB"
