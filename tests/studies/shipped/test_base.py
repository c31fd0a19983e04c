"""The recipe that the shipped studies vary is a sound SpanBERT, and takes other parts."""

from spanwise.pretraining.objectives import MaskedLM
from spanwise.pretraining.system import check
from spanwise.studies.shipped.base import TOKENS, base


def test_the_base_is_a_sound_spanbert_counted_in_tokens():
    recipe = base("small")
    check(recipe)
    assert recipe.training.length == ("max_tokens", TOKENS) and set(recipe.objectives) == {"mlm", "sbo"}
    assert set(base("other", objectives={"mlm": MaskedLM()}).objectives) == {"mlm"}
