"""`spanwise pretrain`: a recipe and text, or a token store, in; a run folder out."""

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.changes import read_changes, resume_command
from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds, parse_budget
from spanwise.cli.processes import is_leader, is_one_of_several, launch_again

Files = Annotated[list[Path] | None, Parameter(consume_multiple=True)]


def pretrain(
    recipe: str,
    /,
    *,
    out: Path,
    data: list[str] | None = None,
    text: Files = None,
    valid: Files = None,
    tokenizer: Path | None = None,
    init: str | None = None,
    add_tokens: Path | None = None,
    token_rows: Literal["mean", "random"] = "mean",
    longer_positions: Literal["tile", "random"] | None = None,
    budget: str | None = None,
    resume: bool = False,
    config: Path | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    save_every: int | None = None,
    keep: int | None = None,
    lines: Literal["paragraphs", "sentences"] = "paragraphs",
    errors: Literal["strict", "replace"] = "strict",
    text_field: str = "text",
    language: str = "en",
    device: str | None = None,
    processes: int = 1,
    tensorboard: bool = False,
    json: bool = False,
) -> int:
    """Pre-train a recipe. Give --data STORE, or --text FILES to learn the vocabulary and make the store first.

    Ctrl-C saves and ends with status 75; the same command with --resume goes on, bit for bit on CPU.

    Parameters
    ----------
    recipe
        A name (spanwise show recipe lists them), or my_recipes.py:my_function.
    out
        Run folder; the model will lie in OUT/final.
    data
        A token store, as prepare makes it. Several, each with its share of the tokens: --data A:0.7 --data B:0.3;
        without shares each is read as often as its size asks.
    text
        Text files, folders or globs, instead of a store.
    valid
        A token store or text files to measure on, under masks that never change.
    tokenizer
        Folder of the tokenizer. Default: the store's, the one of --init, or learned from the text.
    init
        A Hugging Face folder of BERT, RoBERTa, ALBERT, ELECTRA or GPT-1 type, or a hub id, to start from.
    add_tokens
        File of tokens, one a line, that the vocabulary of --init grows by; its old rows stay as they are.
    token_rows
        Where their embeddings start: at the mean of their old pieces, or at random.
    longer_positions
        Grow the positions of --init to encoder.max_positions (--set): new ones repeat the old, or start at random.
    budget
        Wall-clock time, such as 20min, 90s or 1h30m, from when text and vocabulary are prepared to the saved model,
        first weights and compiling included; replaces the recipe's own length.
    resume
        Go on with the run in OUT.
    config
        YAML of changed values; spanwise init writes one.
    overrides
        Change a value: path=value. May be repeated.
    save_every
        Steps from one checkpoint to the next. Default: every 10 minutes (training.save_minutes).
    keep
        How many of the newest checkpoints are kept.
    lines
        What a line of --text is.
    errors
        What to do at bytes of --text that are not UTF-8: stop, or replace them and go on.
    text_field
        The field that holds the text, in JSON lines and parquet.
    language
        Of --text, for splitting sentences: en, ko, ...
    device
        cpu, cuda or cuda:1. Default: a GPU where there is one.
    processes
        Share each step among so many processes of this machine: on a CPU one a core, each with one thread, is faster
        than one process with as many threads; on GPUs one each. On several machines, start this command by torchrun.
    tensorboard
        Write TensorBoard files too.
    json
        Print one JSON object at the end, progress to standard error.
    """
    seconds = None if budget is None else parse_budget(budget)
    if processes != 1 and not is_one_of_several():
        return launch_again(processes)
    from spanwise.pretraining.run import pretrain as run_pretraining
    from spanwise.recipes import find
    from spanwise.runtime.progress import RunLog
    from spanwise.text.corpus import CorpusOptions

    chosen = find(recipe)
    changes = read_changes(config, overrides, save_every=save_every, keep=keep)
    corpus = CorpusOptions(lines=lines, errors=errors, text_field=text_field, language=language)
    log = RunLog(out, stream=sys.stderr if json else sys.stdout, tensorboard="on" if tensorboard else "off")
    result = run_pretraining(
        chosen,
        out=out,
        data=data or None,
        text=text,
        valid=valid[0] if valid and len(valid) == 1 else valid,
        tokenizer=tokenizer,
        init=init,
        add_tokens=add_tokens,
        token_rows=token_rows,
        longer_positions=longer_positions,
        budget=seconds,
        resume=resume,
        overrides=changes,
        corpus=corpus,
        log=log,
        device=device,
        resume_command=resume_command(),
    )
    if not is_leader():
        return 0
    if json:
        print_json(training_record(result))
        return 0
    say(f"{result.steps:,} steps, {result.tokens:,} tokens in {format_seconds(result.seconds)}. Model: {result.final}")
    for line in next_steps(str(result.final), is_causal=chosen.encoder.causal):
        say(line)
    return 0


def next_steps(final: str, *, is_causal: bool) -> list[str]:
    """What a person may do with the model: a causal one writes, the others fill blanks."""
    if is_causal:
        asked = f"import spanwise; print(spanwise.pipeline('text-generation', model={final!r})('The'))"
        first, task = f"python3 -c {quote(asked)}", f"classification --recipe gpt-1 --model {quote(final)}"
    else:
        first, task = (
            f"spanwise show masks --text '...' --span 1:3 --model {quote(final)}",
            f"qa --model {quote(final)}",
        )
    return [f"Next: {first}", f"      spanwise finetune {task} --train FILE --dev FILE --out RUN"]


def training_record(result) -> dict:
    """Return how a run ended as a JSON-able record."""
    return {
        "final": str(result.final),
        "steps": result.steps,
        "tokens": result.tokens,
        "seconds": result.seconds,
        "losses": result.losses,
        "evaluation": result.evaluation,
        "first_evaluation": result.first_evaluation,
        "resumed_from": result.resumed_from,
    }
