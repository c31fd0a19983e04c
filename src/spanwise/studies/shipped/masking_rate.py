"""How much should be hidden?"""

from spanwise.pretraining.masking import GeometricSpans
from spanwise.studies.shipped.base import base
from spanwise.studies.study import Study


def masking_rate() -> Study:
    """15 % of the text hidden, as in all papers here, or 5, 25 and 40 %."""
    rates = (15, 5, 25, 40)
    return Study(
        name="masking-rate",
        question="Of SpanBERT's text, which share should be hidden?",
        arms={f"{rate}-per-cent": base(f"rate-{rate}", masking=GeometricSpans(ratio=rate / 100)) for rate in rates},
        probes=("masked-tokens", "minimal-pairs", "span-pairs", "questions"),
        notes=("The probe of masked tokens hides 15 %, whatever an arm was trained with.",),
    )
