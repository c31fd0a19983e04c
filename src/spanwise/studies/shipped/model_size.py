"""Wide or deep, small or large?"""

from dataclasses import replace

from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study

_SIZES = {"2x128": (2, 128, 4e-3), "4x128": (4, 128, 4e-3), "2x256": (2, 256, 3e-3), "4x256": (4, 256, 3e-3)}
_PROBES = ("masked-tokens", "minimal-pairs", "span-pairs", "questions")
_NOTE = "The learning rate is lower for the wider encoders (3e-3 for 4e-3)."


def model_size() -> Study:
    """Layers and width at equal tokens."""
    question = "What do twice the layers and twice the width buy when all read the same tokens?"
    return Study(name="model-size", question=question, arms=_arms(), probes=_PROBES, notes=(_NOTE,))


def model_size_at_equal_compute() -> Study:
    """Layers and width at equal training operations: the smaller encoders read more."""
    return Study(
        name="model-size-at-equal-compute",
        question="For the same training operations, a small encoder that reads much or a large one that reads little?",
        arms=_arms(),
        compute=2e14,
        probes=_PROBES,
        notes=(_NOTE,),
    )


def _arms() -> dict[str, PretrainingRecipe]:
    found = {}
    for name, (layers, width, rate) in _SIZES.items():
        small = base(f"size-{name}")
        found[name] = replace(
            small,
            encoder=replace(
                small.encoder, num_layers=layers, hidden_size=width, num_heads=width // 64, intermediate_size=4 * width
            ),
            training=replace(small.training, learning_rate=rate),
        )
    return found
