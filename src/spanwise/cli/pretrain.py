"""`spanwise pretrain`: a recipe and text, or a token store, in; a run folder out."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds, parse_budget
from spanwise.cli.options.origin import NO_ORIGIN, OriginOptions
from spanwise.cli.options.processes import is_leader, is_one_of_several, launch_again
from spanwise.cli.options.ranges import Processes
from spanwise.cli.options.run import USUAL_RUN, RunOptions
from spanwise.cli.options.text import USUAL_TEXT, TextOptions
from spanwise.errors import ConfigError
from spanwise.runtime.wording import counted

if TYPE_CHECKING:
    from spanwise.training.loop import TrainingResult

Files = Annotated[list[Path] | None, Parameter(consume_multiple=True)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options that say what is read."""

    data: list[str] | None = None
    """A token store, as prepare makes it. Several, each with its share of the tokens: --data A:0.7 --data B:0.3;
    without shares each is read as often as its size asks."""
    text: Files = None
    """Text files, folders or globs, instead of a store."""
    valid: Files = None
    """A token store or text files to measure on, under masks that never change; of long ones the first 65,536 tokens
    are measured."""
    tokenizer: Path | None = None
    """Folder or hub id of the tokenizer. Default: the store's, the one of --init, or learned from the text."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """Options that say what a model starts from."""

    init: str | None = None
    """A Hugging Face folder to start from, or a hub id: of BERT, RoBERTa, XLM-RoBERTa, ALBERT, ELECTRA, ModernBERT,
    Splinter or GPT-1 type."""
    add_tokens: Path | None = None
    """File of tokens, one per line, that the vocabulary of --init grows by; its old rows stay as they are."""
    token_rows: Literal["mean", "random"] = "mean"
    """Where their embeddings start: at the mean of their old pieces, or at random."""
    longer_positions: Literal["tile", "random"] | None = None
    """Grow the positions of --init to encoder.max_positions (--set): new ones repeat the old, or start at random."""


NOTHING_READ, FROM_NOTHING = SourceOptions(), StartOptions()


def pretrain(
    recipe: str,
    /,
    *,
    out: Path,
    source: SourceOptions = NOTHING_READ,
    start: StartOptions = FROM_NOTHING,
    budget: str | None = None,
    reading: TextOptions = USUAL_TEXT,
    origin: OriginOptions = NO_ORIGIN,
    run: RunOptions = USUAL_RUN,
    processes: Processes = 1,
    sharding: Literal["none", "fsdp2"] | None = None,
    upload: str | None = None,
) -> int:
    """Pre-train a recipe. Give --data STORE, or --text FILES to learn the vocabulary and make the store first.

    Ctrl-C saves and ends with status 75; the same command with --resume goes on, bit for bit on CPU.

    Parameters
    ----------
    recipe
        A name (spanwise show recipe lists them), or my_recipes.py:my_function.
    out
        Run folder; the model will lie in OUT/final.
    budget
        Wall-clock time, such as 20min, 90s or 1h30m, from when text and vocabulary are prepared to the saved model,
        first weights and compiling included; replaces the recipe's own length.
    processes
        Share each step among so many processes of this machine, which share its cores: on GPUs one process per card; on
        a CPU alone one process with all threads is faster. On several machines, start this command by torchrun.
    sharding
        fsdp2: each process keeps its share of every large matrix and of its moments, rather than all of them
        (training.sharding). It may change when a run goes on.
    upload
        An address (s3://bucket/run, gs://, hdfs://, file://) where checkpoints and model are kept too. With --resume a
        run that is not in OUT is fetched from there. Training never waits; status 1 where the model did not arrive.
    """
    seconds = None if budget is None else parse_budget(budget)
    if source.data and not source.text and not source.valid and reading != USUAL_TEXT:
        raise ConfigError("--lines, --errors, --text-field and --language are about text, and a store is read already.")
    if start.token_rows != StartOptions.token_rows and start.add_tokens is None:
        raise ConfigError("--token-rows is about new tokens: name them with --add-tokens.")
    if processes != 1 and not is_one_of_several():
        return launch_again(processes)
    from spanwise.pretraining.run import pretrain as run_pretraining
    from spanwise.recipes import find

    chosen = find(recipe)
    if sharding is not None:
        run = replace(run, overrides=[*(run.overrides or []), f"training.sharding={sharding}"])
    result = run_pretraining(
        chosen,
        out=out,
        data=source.data or None,
        text=source.text,
        valid=source.valid[0] if source.valid and len(source.valid) == 1 else source.valid,
        tokenizer=source.tokenizer,
        **asdict(start),
        budget=seconds,
        corpus=reading.corpus(),
        origins=origin.origins(),
        upload=upload,
        **run.training(out),
    )
    if not is_leader():
        return 0
    if run.json:
        print_json(training_record(result))
        return 0
    done = f"{counted(result.steps, 'step')}, {counted(result.tokens, 'token')}"
    say(f"{done} in {format_seconds(result.seconds)}. Model: {result.final}")
    names = chosen.objectives  # not those of a generator, whose head is not in the model
    for line in next_steps(str(result.final), is_causal=chosen.encoder.causal, fills_blanks="mlm" in names):
        say(line)
    return 0


def next_steps(final: str, *, is_causal: bool, fills_blanks: bool = True) -> list[str]:
    """Return what a person may do next with the model: a causal one writes, others fill the blanks they learned."""
    if is_causal:
        asked = f"import spanwise; print(spanwise.pipeline('text-generation', model={final!r})('The'))"
        first, task = f"python3 -c {quote(asked)}", f"classification --recipe gpt-1 --model {quote(final)}"
    else:
        first, task = (
            f"spanwise show masks --text '...' --span 1:3 --model {quote(final)}",
            f"qa --model {quote(final)}",
        )
    if not (is_causal or fills_blanks):
        first = f"spanwise show model {quote(final)}"
    return [f"Next: {first}", f"      spanwise finetune {task} --train FILE --dev FILE --out RUN"]


def training_record(result: "TrainingResult") -> dict:
    """Return how a run ended as a JSON-able record."""
    return {name: str(value) if name == "final" else value for name, value in asdict(result).items()}
