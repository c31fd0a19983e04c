"""`spanwise show recipe TASK`: the recipes of fine-tuning, and which values follow from the encoder."""

from collections.abc import Sequence

from spanwise.cli.console import print_json, print_table, say, show_value


def show_task_recipes(task: str, overrides: Sequence[str], *, json: bool) -> None:
    """Print rate, length, batch and dropout of each recipe of a task, its first (the default) on top.

    Raises: ConfigError for a changed value that one of them does not have.
    """
    from spanwise.config import override, to_record
    from spanwise.tasks.recipe import FinetuningRecipe
    from spanwise.tasks.registry import recipes_of
    from spanwise.tasks.teaching.settle import shown_rate
    from spanwise.training.plan import LENGTHS, with_one_length

    recipes: dict[str, FinetuningRecipe] = {
        name: override(made(), with_one_length(overrides)) for name, made in recipes_of(task).items()
    }
    if json:
        print_json([{"name": name, "recipe": to_record(recipe)} for name, recipe in recipes.items()])
        return
    rows = []
    for name, recipe in recipes.items():
        training = recipe.training
        lengths = {length: getattr(training, length) for length in LENGTHS}
        length = next((f"{kind}={show_value(value)}" for kind, value in lengths.items() if value is not None), "none")
        rate = "auto" if training.learning_rate == "auto" else shown_rate(training.learning_rate)
        own = "the encoder's" if recipe.hidden_dropout is None else str(recipe.hidden_dropout)
        rows.append((name, rate, length, str(recipe.batch_size), own))
    print_table(("recipe", "rate", "length", "batch", "dropout"), rows, title=task)
    say("auto: by the encoder's shape, the number of examples and what the model knows; finetune says what it took.")
