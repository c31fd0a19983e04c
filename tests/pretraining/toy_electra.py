"""ELECTRA of toy size, for the tests of its two halves."""

from dataclasses import replace

from test_system import small

from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.masking import Replacement, SubwordTokens
from spanwise.pretraining.objectives import ReplacedToken


def electra(**generator):
    """ELECTRA of toy size: 32 columns, tables of 24, a generator of 8."""
    recipe = small()
    return replace(
        recipe,
        encoder=replace(recipe.encoder, embedding_size=24, hidden_dropout=0.0),
        masking=SubwordTokens(),
        replacement=Replacement(mask=0.85, random=0.0, keep=0.15, unit="token"),
        objectives={"rtd": ReplacedToken()},
        corruption=Generator(**generator),
    )
