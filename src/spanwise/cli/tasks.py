"""The tasks that `finetune`, `evaluate`, `predict` and `score` know."""

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

TASKS = {"qa": "extractive question answering on files of the SQuAD 1.1 and 2.0 shape"}
OTHER_NAMES = {"question-answering": "qa", "squad": "qa", "squad2": "qa"}


def check_task(task: str) -> None:
    """Raises: ConfigError naming the tasks there are, where `task` is none of them."""
    if task not in TASKS:
        meant = OTHER_NAMES.get(task.lower())
        suggestion = f" Did you mean {meant!r}?" if meant else did_you_mean(task, TASKS)
        known = "; ".join(f"{name} ({words})" for name, words in TASKS.items())
        raise ConfigError(f"there is no task {task!r}. Tasks: {known}.{suggestion}")
