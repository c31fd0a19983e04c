"""`spanwise init`: a recipe's values as a commented YAML, to edit."""

from pathlib import Path
from shlex import quote

from spanwise.cli.console import say
from spanwise.errors import ConfigError


def init(recipe: str, /, *, out: Path | None = None) -> None:
    """Write a commented YAML of a recipe's values; edit it and pass it as --config.

    Parameters
    ----------
    recipe
        A name (spanwise show recipe lists them), my_recipes.py:my_function, or a task for the values of finetune.
    out
        File to write; must not exist yet. Default: print it.
    """
    from spanwise.config import commented_yaml
    from spanwise.recipes import find
    from spanwise.runtime.files import write_text_atomic
    from spanwise.tasks.registry import TASKS, task_recipe

    text = commented_yaml(task_recipe(recipe) if recipe in TASKS else find(recipe))
    if out is None:
        print(text, end="")
        return
    if out.exists():
        raise ConfigError(f"{out} exists already. Choose another file, or remove it first.")
    write_text_atomic(out, text)
    files = f"finetune {recipe} --model DIR --train FILE" if recipe in TASKS else f"pretrain {recipe} --text FILES"
    say(f"Wrote {out}. Next: spanwise {files} --config {quote(str(out))} --out RUN")
