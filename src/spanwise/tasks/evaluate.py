"""Fine-tuned models asked: scores of labelled files, and answers to unlabelled ones, whatever the task."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import numpy as np

from spanwise.errors import ConfigError
from spanwise.runtime.device import Precision
from spanwise.runtime.files import refuse_special, refuse_to_write_over, write_text_atomic
from spanwise.runtime.progress import Gauge
from spanwise.tasks.base import D, F, O, P, Scores, Task, as_json
from spanwise.tasks.batches import DropsTokens
from spanwise.tasks.checkpoint import LoadedTask, load_task_model
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.files.text import OnError, without_compression
from spanwise.tasks.registry import task_recipe
from spanwise.text.tokenizers import Tokenizer

logger = logging.getLogger(__name__)
FORMS = (".conll", ".jsonl", ".tsv")  # of predictions: no file that is named so holds another form


@dataclass(frozen=True, kw_only=True)
class EvaluationResult(Generic[D, F, O, P]):
    """Scores from 0 to 100, and the predictions they belong to."""

    scores: Scores
    predictions: P
    task: Task[D, F, O, P]


def evaluate(
    task_name: str,
    *,
    model: str | Path,
    data: str | Path,
    out: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
    errors: OnError = "strict",
    gauge: Gauge | None = None,
) -> EvaluationResult:
    """Score a fine-tuned model on labelled data, with the threshold stored in it; `out` receives the scores as JSON.

    on_overflow: what is done with examples longer than the model reads, where the task has a choice ("error" refuses
    them); None: as it was fine-tuned. errors: "repair" leaves malformed rows out and counts them. gauge: is told of the
    tokens that there are and that are read.
    Raises: DataError, CheckpointError (a model without a head for the task), ConfigError (also where `out` is the data,
    or a folder).
    """
    if out is not None:
        _refuse_place(Path(out), [Path(data)], "scores.json")
    loaded = load_task_model(
        model, task_name, tokenizer=tokenizer, device=device, precision=precision, on_overflow=on_overflow
    )
    result = _score(loaded, task_name, Path(data), precision, errors, gauge)
    if out is not None:
        write_text_atomic(out, as_json(result.scores))
    return result


def evaluate_each(
    task_name: str,
    *,
    model: str | Path,
    data: Sequence[str | Path],
    out: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
    errors: OnError = "strict",
    gauge: Gauge | None = None,
) -> dict[str, EvaluationResult]:
    """Score several files with one model, such as MNLI's matched and mismatched pairs: a result per file.

    A file is called by its name without suffixes (`dev_matched`), or by its path where two have the same. `out`
    receives the scores of all as one JSON object.
    Raises: as `evaluate`; ConfigError where a file is named twice.
    """
    names = _names_of(data)
    if out is not None:
        _refuse_place(Path(out), [Path(path) for path in data], "scores.json")
    loaded = load_task_model(
        model, task_name, tokenizer=tokenizer, device=device, precision=precision, on_overflow=on_overflow
    )
    results = {
        name: _score(loaded, task_name, Path(path), precision, errors, gauge)
        for name, path in zip(names, data, strict=True)
    }
    if out is not None:
        write_text_atomic(out, as_json({name: result.scores for name, result in results.items()}))
    return results


def predict(
    task_name: str,
    *,
    model: str | Path,
    input: str | Path,
    output: str | Path,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
    errors: OnError = "strict",
    gauge: Gauge | None = None,
) -> list[Path]:
    """Answer unlabelled data; return the files written: `output`, and what else the task gives beside it.

    For "qa": question id to answer text in `output`, n-best lists in `*.nbest.json`, null odds in `*.null_odds.json`.
    errors: "repair" leaves malformed rows out; they have no line in what is written, are counted and named in the log,
    and change the id of no other row. gauge: is told of the tokens that there are and that are read.
    Raises: DataError, CheckpointError (a model without a head for the task), ConfigError (also where a file beside
    `output` would take the place of the input, or of one that is there without `output`).
    """
    _refuse_place(Path(output), [Path(input)], "predictions.json")
    refuse_special(Path(output))  # other files lie beside it
    _refuse_beside(Path(output), task_recipe(task_name).task.prediction_names(Path(input)), [Path(input)])
    loaded = load_task_model(
        model, task_name, tokenizer=tokenizer, device=device, precision=precision, on_overflow=on_overflow
    )
    unlabelled = read_data(task_name, loaded.task, input, purpose="predict", errors=errors)
    _count_left_out(unlabelled, input, "malformed; nothing is written for them")
    answers = answers_of(loaded, unlabelled, precision, gauge)
    return write_predictions(Path(output), loaded.task, answers, made_from=[Path(input)])


def _refuse_place(path: Path, read: Sequence[Path], example: str) -> None:
    """Raises: ConfigError where the file to write is one of those that are read, or a folder."""
    refuse_to_write_over(path, read)
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name the file to write, such as {path / example}.")


def _refuse_beside(output: Path, names: Sequence[str], read: Sequence[Path]) -> None:
    """Refuse to replace a file that is read, or one that no earlier prediction to `output` can have written.

    Where `output` itself is not written, as these predictions have no form of its suffix, nothing tells which files are
    of an earlier prediction, and they are replaced. Raises: ConfigError.
    """
    paths = _paths_of(output, names).values()
    for path in paths:
        if any(path.exists() and one.exists() and path.samefile(one) for one in read):
            raise ConfigError(
                f"{path} is the input, and a file of this name is written beside {output} too; name another output."
            )
        if path != output and path.exists() and output in paths and not output.exists():
            raise ConfigError(
                f"{path} is there already, and predictions to {output} would replace it: they write a file of this "
                "name too. Name another output, or move that file away."
            )


def _score(
    loaded: LoadedTask[D, F, O, P],
    task_name: str,
    path: Path,
    precision: Precision,
    errors: OnError,
    gauge: Gauge | None,
) -> EvaluationResult[D, F, O, P]:
    labelled = read_data(task_name, loaded.task, path, purpose="score", errors=errors)
    predictions = answers_of(loaded, labelled, precision, gauge)
    scores = loaded.task.score(labelled, predictions)
    _count_left_out(labelled, path, "malformed, or without a label")
    return EvaluationResult(scores=scores, predictions=predictions, task=loaded.task)


def _count_left_out(data: object, path: str | Path, reason: str) -> None:
    num_dropped = getattr(data, "num_dropped", 0)
    if num_dropped:
        logger.warning("%s: %s rows are left out: %s.", path, f"{num_dropped:,}", reason)


def answers_of(loaded: LoadedTask[D, F, O, P], data: D, precision: Precision, gauge: Gauge | None = None) -> P:
    """Return a fine-tuned model's predictions for data in memory; tokens that it does not read are logged."""
    task, model = loaded.task, loaded.model
    features = task.featurize(data, loaded.tokenizer, model.encoder.config, training=False)
    if isinstance(features, DropsTokens) and features.dropped_tokens.any():
        dropped_W = features.dropped_tokens
        logger.warning(
            "%s of %s examples are longer than the model reads; %s tokens were dropped (--on-overflow error refuses).",
            *(f"{number:,}" for number in (int((dropped_W > 0).sum()), len(dropped_W), int(dropped_W.sum()))),
        )
    if gauge is not None:
        gauge.expect(int(np.asarray(features.lengths_W).sum()))
    told = None if gauge is None else gauge.add
    return task.decode(data, features, model.outputs(features, precision=precision, told=told))


def write_predictions(
    output: Path, task: Task[D, F, O, P], predictions: P, made_from: Sequence[Path] = ()
) -> list[Path]:
    """Write the files that the task makes of its predictions; return their paths, `output` first.

    Raises: ConfigError where one of them is in `made_from`, or would replace a file that is there without `output`.
    """
    contents = dict(task.prediction_files(predictions))
    paths = _paths_of(output, list(contents))
    if output not in paths.values():
        first = next(iter(contents))
        logger.warning("%s: these predictions have no form %s; %s is written.", output, output.suffix, first)
    if made_from:
        _refuse_beside(output, list(contents), made_from)
    in_order = sorted(paths.items(), key=lambda entry: entry[1] != output)  # where `output` is, the others may be
    for name, path in in_order:
        content = contents[name]
        write_text_atomic(path, content if isinstance(content, str) else as_json(content))
    return [path for _, path in in_order]


def _paths_of(output: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the file of each name that the task gives its predictions; `output` is one of them, unless it is named for
    a form that these predictions do not have."""
    paths = {name: _beside(output, name) for name in names}
    if names and output not in paths.values() and output.suffix not in FORMS:
        paths[names[0]] = output  # no form of predictions has this suffix: the first is what was asked for
    return paths


def _beside(output: Path, name: str) -> Path:
    """Return the file for what the task calls `name`: "" the output, ".x" one of this suffix, "x" one named so too."""
    if name.startswith("."):
        return output.with_suffix(name)
    return output.with_name(f"{output.stem}.{name}{output.suffix}") if name else output


def _names_of(paths: Sequence[str | Path]) -> list[str]:
    names = [without_compression(path).stem for path in paths]
    counts = Counter(names)
    found = [name if counts[name] == 1 else str(path) for name, path in zip(names, paths, strict=True)]
    if len(set(found)) < len(found):
        raise ConfigError(f"a file of data is named twice: {', '.join(found)}.")
    return found
