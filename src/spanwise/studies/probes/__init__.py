"""The probes by name: one file each."""

from collections.abc import Callable

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.studies.probes.base import Context, Figure, Figures, Material, Probe, ProbeFile, find_files
from spanwise.studies.probes.coreference import CoreferenceProbe
from spanwise.studies.probes.few_shot_questions import FewShotQuestions
from spanwise.studies.probes.masked_tokens import MaskedTokens
from spanwise.studies.probes.minimal_pairs import MinimalPairs
from spanwise.studies.probes.questions import Questions
from spanwise.studies.probes.span_pairs import SpanPairs
from spanwise.studies.probes.tagged import Chunks, Entities

PROBES: dict[str, Callable[[], Probe]] = {
    part.name: part
    for part in (
        MaskedTokens,
        MinimalPairs,
        SpanPairs,
        CoreferenceProbe,
        Questions,
        FewShotQuestions,
        Chunks,
        Entities,
    )
}


def find_probe(name: str) -> Probe:
    """Return the probe of a name, with its usual values. Raises: ConfigError with the nearest name."""
    if name not in PROBES:
        raise ConfigError(f"there is no probe '{name}'; probes are {', '.join(PROBES)}.{did_you_mean(name, PROBES)}")
    return PROBES[name]()
