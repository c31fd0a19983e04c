"""A short fine-tuning run from a pre-trained model, and its scores: what most of the probes need.

The learning rate follows the width of the encoder (1e-3 at 128, 7e-5 at 768) unless a probe sets one: small encoders
are trained with higher rates, and one rule for all arms favours none. The rule is the probes' own, not that of
`finetune` (tasks/teaching/), so that figures stay comparable with those of earlier studies. The seed is that of the
pre-training run.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import remove_folder, write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes.base import Context
from spanwise.tasks.base import numbers_of
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.run import finetune

SCORES_NAME = "scores.json"
STANDARD_WIDTH, STANDARD_RATE, POWER = 128, 1e-3, 1.5
DROPOUT = 0.1  # pre-training on text that is read once goes without; labelled data is read several times


def usual_rate(width: int) -> float:
    """Return the peak learning rate for an encoder of this hidden size."""
    return STANDARD_RATE * (STANDARD_WIDTH / width) ** POWER


def finetuned_scores(
    context: Context,
    name: str,
    task: str,
    *,
    train: Path,
    dev: Path,
    recipe: str | None = None,
    learning_rate: float | None = None,
    overrides: Sequence[str] = (),
) -> Mapping[str, float]:
    """Return the scores on `dev` after fine-tuning on `train` in the folder `context.out / name`.

    A run that was cut off goes on; of a finished one the scores are kept and the weights are not.
    """
    run = context.out / name
    kept = run / SCORES_NAME
    if kept.exists():
        scores: dict[str, float] = decode_json(kept.read_text(encoding="utf-8"))
        return scores
    context.log.say(f"  {name}: fine-tuning on {train.name}")
    rate = learning_rate or usual_rate(read_folder(context.model).config.hidden_size)
    changes = [f"training.learning_rate={rate}", f"training.seed={context.seed}", "training.log_every=50"]
    result = finetune(
        task,
        model=context.model,
        from_base=True,
        train=train,
        out=run,
        recipe=recipe,
        overrides=[*changes, f"hidden_dropout={DROPOUT}", *overrides],
        resume=True,
        device=context.device,
        log=RunLog(run),
        resume_command=context.resume_command,
    )
    found = numbers_of(evaluate(task, model=result.final, data=dev, device=context.device).scores)
    write_text_atomic(kept, json.dumps(found, indent=1) + "\n")
    for folder in (*(run / "checkpoints").glob("step-*"), run / "final"):
        remove_folder(folder)
    return found
