"""Options that people know from the Hugging Face Trainer and its scripts, and what they are called here."""

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
    "report_to": "nothing: metrics.jsonl is always written",
    "per_device_eval_batch_size": "nothing: evaluation packs by tokens",
}
# Values of a recipe whose names are the same here, so that no table of foreign names holds them.
VALUES = ["learning_rate", "warmup_steps", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm"]
VALUES += ["max_steps", "max_tokens", "num_epochs", "seed", "precision", "log_every", "eval_every", "save_every"]
VALUES += ["keep", "schedule", "threads", "hidden_dropout"]


def suggest_option(arguments: Sequence[str]) -> str:
    """Return a sentence for the first argument that is another project's spelling, or "" where there is none."""
    for argument in arguments:
        if not argument.startswith("--"):
            continue
        name = argument[2:].split("=")[0].replace("-", "_")
        if name in OPTIONS:
            return f"What others call --{name} is here {OPTIONS[name]}."
        ours, note = FOREIGN_SPELLINGS.get(name, (name if name in VALUES else "", ""))
        if ours:
            words = f"Values of a recipe are changed with --set, for example --set training.{ours}=VALUE."
            return words + (f" ({note})" if note else "")
    return ""
