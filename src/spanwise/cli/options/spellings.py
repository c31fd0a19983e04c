"""Options that people know from the Hugging Face Trainer and its scripts, and what they are called here; empty ones."""

from collections.abc import Sequence

from spanwise.runtime.suggest import FOREIGN_SPELLINGS

# Their option, with underscores -> our option. Values of a recipe are not here: they are set with --set.
OPTIONS = {
    "output_dir": "--out DIR",
    "model_name_or_path": "--model CHECKPOINT (for pretrain: --init CHECKPOINT)",
    "tokenizer_name": "--tokenizer DIR",
    "train_file": "--train FILE (for pretrain: --text FILES)",
    "validation_file": "--dev FILE (for pretrain: --valid STORE)",
    "test_file": "--data FILE",
    "dataset_name": "--train FILE (for pretrain: --text FILES)",
    "resume_from_checkpoint": "--resume",
    "overwrite_output_dir": "a new folder: --out never overwrites a run",
    "report_to": "--log-to tensorboard (or wandb, mlflow, trackio)",
    "tensorboard": "--log-to tensorboard",
    "per_device_eval_batch_size": "nothing: evaluation packs by tokens",
}
# Values of a recipe whose names are the same here, so that no table of foreign names holds them.
VALUES = ["learning_rate", "warmup_steps", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm"]
VALUES += ["max_steps", "max_tokens", "num_epochs", "seed", "precision", "log_every", "eval_every", "save_every"]
VALUES += ["save_minutes", "keep", "schedule", "threads", "hidden_dropout", "doc_stride", "max_length"]
# Where a value lies in a recipe, unless in `training`; fine-tuning has places of its own.
PLACES = dict.fromkeys(["num_layers", "num_heads", "hidden_size", "intermediate_size", "max_positions"], "encoder.")
PLACES |= dict.fromkeys(["num_token_types", "activation", "norm_eps"], "encoder.")
PLACES |= dict.fromkeys(["hidden_dropout", "attention_dropout"], "encoder.")
PLACES |= {"tokens_per_step": "batch.", "ratio": "masking.", "max_length": "format."}
FINETUNING_PLACES = {"batch_size": "", "hidden_dropout": "", "attention_dropout": ""}
FINETUNING_PLACES |= dict.fromkeys(["max_length", "doc_stride", "num_best"], "task.")
FINETUNING_PLACES |= dict.fromkeys(["max_question_tokens", "max_answer_tokens"], "task.")


def suggest_option(command: str, unknown: Sequence[str]) -> str:
    """Return a sentence for the first argument that is another project's spelling, or "" where there is none.

    `unknown` are arguments that `command` could not read, so that no option of its own is spoken of.
    """
    return next(filter(None, (_suggested(command, argument) for argument in unknown)), "")


def _suggested(command: str, argument: str) -> str:
    if not argument.startswith("--"):
        return ""
    name = argument[2:].split("=")[0].replace("-", "_")
    if name in OPTIONS:
        return f"What others call --{name} is here {OPTIONS[name]}."
    ours, note = (name, "") if name in VALUES else FOREIGN_SPELLINGS.get(name, ("", ""))
    if command == "finetune" and ours == "tokens_per_step":
        ours, note = "batch_size", "examples per step"
    here, there = (FINETUNING_PLACES, PLACES) if command == "finetune" else (PLACES, FINETUNING_PLACES)
    if not ours or (ours in there and ours not in here):  # there is no such value in this command's recipes
        return ""
    words = f"Values of a recipe are changed with --set, for example --set {here.get(ours, 'training.')}{ours}=VALUE."
    return words + (f" ({note})" if note else "")


def find_empty(arguments: Sequence[str]) -> str:
    """Return a sentence about the first argument that is empty, or "" where there is none.

    An empty path would mean the current folder, which nobody who left a shell variable unset has in mind.
    """
    for place, argument in enumerate(arguments):
        before = arguments[place - 1] if place else "spanwise"
        if argument and not (argument.startswith("--") and argument.endswith("=") and argument.count("=") == 1):
            continue
        where = f"{argument[:-1]} has an empty value" if argument else f"The argument after {before} is empty"
        return f'{where}, as "$NAME" is where no NAME is set. Write its value, or leave it out.'
    return ""
