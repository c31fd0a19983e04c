"""Commands that a person can paste: how to go on with a quickstart that was stopped, and what to try after it."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from spanwise.adapt.options import AdaptationOptions
from spanwise.config import difference
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.quickstart.adapting.texts import AdaptedText
from spanwise.quickstart.texts_in import Prepared
from spanwise.recipes import find
from spanwise.runtime.program import program
from spanwise.weights.learned_from import NOT_STATED, Origin


def next_commands(
    folder: Path, model: Path, qa_model: Path, own_text: bool, language: str = "en"
) -> list[tuple[str, str]]:
    """Return three commands to try next, with what they do; `language` is that of the text."""
    call = program()
    of_text = " --language ko" if language == "ko" else ""
    if own_text:
        first = (
            f"{call} pretrain spanbert-tiny --data {quote(str(folder / 'store'))} "
            f"--valid {quote(str(folder / 'valid-store'))} --budget 1h --out {quote(f'{folder}-longer')}",
            "Pre-train on your text for an hour:",
        )
    else:
        first = (
            f"{call} quickstart YOUR_TEXTS/*.txt{of_text} --from-scratch --budget 30min",
            "The same on your own text, for longer:",
        )
    sentence = "The bridge was built in 1890 by the city of Boston ."
    if language == "ko":
        sentence = "이 다리는 한강을 건너기 위해 1890년 서울시에서 처음 만들었다 ."
    return [
        first,
        (
            f"{call} show masks --text {quote(sentence)} --span 5:7 --model {quote(str(model))}",
            "What it makes of a hidden span, word by word:",
        ),
        (
            f"{call} evaluate qa --model {quote(str(qa_model))} --data YOUR_QUESTIONS.json",
            "Score it on your own questions in the SQuAD format:",
        ),
    ]


def commands_after_adapting(model: Path, *, own_text: bool, start: str, language: str) -> list[tuple[str, str]]:
    """Return three commands to try after an adaptation, with what they do; `language` is that of the text."""
    call = program()
    of_text = " --language ko" if language == "ko" else ""
    first = (f"{call} quickstart YOUR_TEXTS/*.txt{of_text}", "The same on your own text:")
    if own_text:
        first = (
            f"{call} adapt {quote(start)} YOUR_TEXTS/*.txt{of_text} --out adapted --budget 1h",
            "Adapt for longer, with all options:",
        )
    return [
        first,
        (f'{call} ask YOUR_TEXTS "YOUR QUESTION" --model {quote(str(model))}', "Ask it about a folder of your own:"),
        (
            f"{call} finetune qa --model {quote(str(model))} --train YOUR_QUESTIONS.json --out taught",
            "Teach it questions of your own, in the SQuAD format:",
        ),
    ]


def resume_command(
    recipe: PretrainingRecipe, prepared: Prepared, out: Path, seconds: int, init: str | Path | None, origin: Origin
) -> str:
    """Return the command that goes on with the pre-training; it names every value that the quickstart changed, and the
    licence and source of the text where they are known."""
    words = ["pretrain", recipe.name, "--data", str(prepared.train.path), "--valid", str(prepared.valid.path)]
    words += ["--out", str(out), "--budget", f"{seconds}s", *([] if init is None else ["--init", str(init)])]
    source = origin.source if origin.source != NOT_STATED or origin.file is None else origin.file  # else named "store"
    for name, said in (("--licence", origin.licence), ("--source", source)):
        words += [] if said == NOT_STATED else [name, said]
    for path, _, value in difference(find(recipe.name), recipe):
        words += ["--set", f"{path}={json.dumps(value)}"]
    return f"{program()} {shlex.join(words)} --resume"


def resume_adaptation(
    start: str, text: AdaptedText, general: Path, out: Path, options: AdaptationOptions, overrides: Sequence[str]
) -> str:
    """Return the command that goes on with an adaptation that was stopped."""
    words = ["adapt", start, str(text.learned), "--out", str(out), "--replay", str(general)]
    words += ["--lines", text.options.lines, "--language", text.options.language]
    length = options.length
    words += ["--budget", f"{length.seconds:g}s"] if length.seconds is not None else ["--steps", str(length.steps)]
    words += ["--general-bound", str(options.general_bound)]
    words += ["--seed", str(options.seed), *(word for change in overrides for word in ("--set", change))]
    return f"{program()} {shlex.join(words)} --resume"
