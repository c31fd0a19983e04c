"""Which pre-training makes few labelled questions go furthest, in equal time?"""

from dataclasses import replace

from spanwise.nn.config import EncoderConfig
from spanwise.pretraining.masking import (
    GeometricSpans,
    MaskingMixture,
    QuestionTokens,
    RecurringGroups,
    Replacement,
    SubwordTokens,
    TwoMaskings,
)
from spanwise.pretraining.objectives import MaskedLM, SpanSelection
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes.one_machine import COUNTED
from spanwise.studies.phases import FirstPhase
from spanwise.studies.probes import CoreferenceProbe, FewShotQuestions
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

RATIO = 0.3
HOURS = 1.25  # of one core, for every run


def few_shot_questions() -> Study:
    """MLM, MLM + SBO, selection, all in one, or selection after MLM + SBO: F1 after 16 to all questions."""
    sbo = _gaps()
    selection = replace(
        sbo,
        name="selection",
        masking=RecurringGroups(),
        replacement=QuestionTokens(),
        objectives={"span_selection": SpanSelection()},
    )
    mixed = replace(
        sbo,
        name="all-mixed",
        masking=TwoMaskings(first=RecurringGroups(), then=sbo.masking),
        replacement=QuestionTokens(others=Replacement()),
        objectives={**sbo.objectives, "span_selection": SpanSelection()},
    )
    then = replace(selection, name="mlm-sbo-then-selection", training=replace(selection.training, learning_rate=1.5e-3))
    return Study(
        name="few-shot-questions",
        question="In equal time, which pre-training makes 16, 128, 1,024 or all questions of new-wiki go furthest?",
        arms={
            "mlm": replace(sbo, name="mlm", objectives={"mlm": MaskedLM()}),
            "mlm-sbo": sbo,
            "selection": selection,
            "all-mixed": mixed,
            "mlm-sbo-then-selection": then,
        },
        first={"mlm-sbo-then-selection": FirstPhase(recipe=sbo, share=0.5)},
        seconds=HOURS * 3_600,
        probes=(FewShotQuestions(), CoreferenceProbe(num_epochs=5, head_size=64)),
        notes=(
            "Each seed has its own weights, order of text and draw of questions, the same for all arms: pairs, and not "
            "every draw with every model.",
            "Models that have learned selection point with [QUESTION], and so do random weights, which have all heads; "
            "the others have a fresh row for start and end.",
            "MLM hides spans in half of the sequences and single pieces in the other half, 30 % of the tokens.",
        ),
    )


def _gaps() -> PretrainingRecipe:
    """MLM + SBO as `spanbert-nano` has them, at 4 layers x 256."""
    whole, single = GeometricSpans(ratio=RATIO), SubwordTokens(ratio=RATIO)
    recipe = base(
        "mlm-sbo",
        encoder=EncoderConfig(
            num_layers=4, hidden_size=256, num_heads=4, intermediate_size=1_024, max_positions=512, hidden_dropout=0.0
        ),
        masking=MaskingMixture(schemes={"spans": whole, "pieces": single}),
        initial=COUNTED,
        batch=PackedBatch(tokens_per_step=4_096, max_tokens=2_048),
    )
    return replace(recipe, training=replace(recipe.training, learning_rate=3e-3))
