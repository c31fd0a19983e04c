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
        A name (spanwise show recipe lists them), or my_recipes.py:my_function.
    out
        File to write; must not exist yet. Default: print it.
    """
    from spanwise.config import commented_yaml
    from spanwise.recipes import find
    from spanwise.runtime.files import write_text_atomic

    text = commented_yaml(find(recipe))
    if out is None:
        print(text, end="")
        return
    if out.exists():
        raise ConfigError(f"{out} exists already. Choose another file, or remove it first.")
    write_text_atomic(out, text)
    say(f"Wrote {out}. Next: spanwise pretrain {recipe} --config {quote(str(out))} --text FILES --out RUN")
