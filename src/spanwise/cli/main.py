"""The `spanwise` command: finds the subcommand, runs it, turns what went wrong into a message and an exit status.

Subcommands are named as import paths and loaded when they are called, so that `spanwise --help` imports no torch.
Exit status: 0 done, 1 failed, 2 wrong use, 3 data, 4 checkpoint, 5 bad numbers, 6 peer lost, 7 folder in use,
75 interrupted and saved; 130 interrupted, 141 the reader of our output went away (both as a shell says it).
"""

import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError, UnknownOptionError

from spanwise.cli.options.spellings import find_empty, suggest_option
from spanwise.errors import SpanwiseError

HELP = """Pre-train, fine-tune and use span-aware encoder models (SpanBERT and its family) on your own text.

Begin with `spanwise ask FOLDER QUESTION` or `spanwise quickstart`; each command has its own `--help`."""
COMMANDS = {
    "ask": "Ask questions of a folder of text: answers with their sentence, file and line.",
    "quickstart": "Adapt the shipped model to a text, measured before and after, with answers and a report.",
    "learn-tokenizer": "Learn a vocabulary from text.",
    "prepare": "Turn text into a token store.",
    "pretrain": "Pre-train a recipe on a token store, or on text directly.",
    "adapt": "Continue an encoder on your own text, and keep its loss on general text within a bound.",
    "make-questions": "Make questions from text, without labels, to fine-tune on.",
    "finetune": "Fine-tune a checkpoint on a task.",
    "evaluate": "Score a fine-tuned checkpoint on labelled data.",
    "predict": "Write a fine-tuned checkpoint's predictions.",
    "extract": "Models over a whole corpus: answers, names, clusters and relations in one file.",
    "serve": "Fine-tuned models behind an address: a page that answers, and JSON for programs.",
    "score": "Score a file of predictions with the task's official metrics.",
    "study": "Train the arms of a study from several seeds and put them into one table with intervals.",
    "combine": "Fine-tuned models of one base in, one folder that serves all their tasks out.",
    "convert": "Other people's checkpoints in, plain Hugging Face folders out.",
    "push": "A model folder to the hub, with its card and without what only training needs.",
    "report": "Put runs into one HTML page: curves, timing, masks and scores.",
    "init": "Write a commented YAML of a recipe's values, to edit and pass as --config.",
    "bench": "How fast this machine is with us and with the peers that are installed.",
    "doctor": "What this machine has, what will be used, what is missing.",
}
# modules of commands that lie in a folder
PLACES = {"ask": "asking.ask", "extract": "corpus.extract", "serve": "asking.serve"}
PLACES |= {"combine": "folders.combine", "convert": "folders.convert", "push": "folders.push"}
SHOW = {
    "recipe": "The recipes, or one recipe: its parts, size, cost and differences from the paper.",
    "store": "What a token store holds.",
    "study": "The studies, or one study: its question, arms and probes.",
    "run": "How a run went, or is going.",
    "masks": "The masks a recipe draws on a text, or what a model makes of hidden spans.",
    "model": "What a checkpoint folder holds and what loads it.",
}
WITH_RUNS = ("pretrain", "adapt", "finetune")  # which take --resume
INTERRUPTED_RUN = "Interrupted. What was saved before is kept; a run goes on from there with --resume."
INTERRUPTED = "Interrupted. Files and folders are written whole or not at all; the same command begins again."
OUT_OF_MEMORY = (  # what torch and the C++ library say in a RuntimeError
    "can't allocate memory",
    "not enough memory",
    "Cannot allocate memory",
    "bad_alloc",
    "Storage size calculation overflowed",
)
MEMORY = (
    "memory ran out. Take smaller packs (pretrain: more of them, --set batch.packs=..., tasks: --set pack_tokens=...), "
    "shorter sequences (format.max_length, task.max_length) or a smaller model, or free memory."
)
DEBUG = "SPANWISE_DEBUG"  # set to 1 for the traceback of an error that is otherwise one message


def build_app() -> App:
    """Return the command tree. No subcommand is imported yet."""
    plain_flags = Parameter(negative=())  # --json, but no --no-json
    app = App(
        name="spanwise",
        help=HELP,
        version=lambda: version("spanwise"),
        default_parameter=plain_flags,
        suppress_keyboard_interrupt=False,  # `main` says what an interrupt leaves behind
    )
    for place, (name, words) in enumerate(COMMANDS.items()):
        function = name.replace("-", "_")
        module = PLACES.get(name, function)
        app.command(f"spanwise.cli.{module}:{function}", name=name, help=words, sort_key=place)
    show = App(name="show", help="Look at a recipe, store, study, run, masks or model.", sort_key=len(COMMANDS) - 2)
    for place, (name, words) in enumerate(SHOW.items()):
        show.command(f"spanwise.cli.show.{name}:show_{name}", name=name, help=words, sort_key=place)
    app.command(show)
    app.register_install_completion_command(
        help="Complete commands and options in this shell (bash, zsh, fish) from its next start on.",
        sort_key=len(COMMANDS),
    )
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; whatever a user can cause ends in one message, without traceback."""
    _replace_closed_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # signs that a terminal has not, and bytes of a name that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _run(given)
        sys.stdout.flush()  # a closed pipe is noticed here, not while Python shuts down
        return status
    except KeyboardInterrupt as stop:
        usual = INTERRUPTED_RUN if given[:1] and given[0] in WITH_RUNS else INTERRUPTED
        return _fail(str(stop) or usual, 130)  # a command may have words of its own
    except BrokenPipeError:
        _drop_standard_output()
        return 141
    except SystemExit as stop:  # by which the library that prints help answers a closed pipe
        if isinstance(stop.__context__, BrokenPipeError):
            return 141
        raise
    except SpanwiseError as error:
        return _fail(str(error), error.exit_status)
    except (OSError, MemoryError, RuntimeError) as error:
        message = _describe(error)
        if message is None:
            raise
        return _fail(message, 1)


def _run(arguments: list[str]) -> int:
    app = build_app()
    if empty := find_empty(arguments):
        return _fail(empty, 2)
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        named = [error.token.keyword or error.token.value] if isinstance(error, UnknownOptionError) else None
        suggestion = suggest_option((error.command_chain or ("",))[0], named or error.unused_tokens or ())
        message = str(error).strip() + (f" {suggestion}" if suggestion else "")
        path = " ".join(["spanwise", *(error.command_chain or ())])
        return _fail(f"{message}\nSee: {path} --help", 2)
    return result if isinstance(result, int) else 0


def _fail(message: str, status: int) -> int:
    if os.environ.get(DEBUG) == "1" and status != 2:
        import traceback

        traceback.print_exc()
    print(f"spanwise: {message}", file=sys.stderr)
    return status


def _describe(error: Exception) -> str | None:
    """Return the message for a failure of the machine (disk, rights, memory); None where it is our own mistake."""
    if isinstance(error, OSError):
        path = f" {error.filename}" if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            at = path and f" while writing{path}"
            return f"the disk is full{at}. Free some space and run again; what was saved is kept."
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            return f"no permission for{path}. Choose a folder of your own, or change its rights."
        if isinstance(error, FileNotFoundError) and error.filename:
            return f"there is no file or folder{path}. Check the path."
        if isinstance(error, (IsADirectoryError, NotADirectoryError, FileExistsError)) and error.filename:
            return f"{(error.strerror or 'wrong kind of path').lower()}:{path}. Check the path."
        if error.errno == errno.ENOMEM:
            return MEMORY
        return f"{(error.strerror or str(error)).lower()}:{path}. Check the path and its disk." if path else None
    ran_out = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    return MEMORY if ran_out or any(words in str(error) for words in OUT_OF_MEMORY) else None


def _replace_closed_streams() -> None:
    """Put nothing in the place of streams that whoever started this process closed (`>&-`), and that are None here.

    Their numbers are taken too, so that no file that is written gets what is printed.
    """
    if sys.stdout is not None and sys.stderr is not None:
        return
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:  # the lowest number that is free
        pass
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _drop_standard_output() -> None:
    """Point standard output at nothing, so that Python's own flush at exit does not complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
