"""A study as one readable value: arms, a budget that is equal for all, and the probes they are measured by.

An arm is a pre-training recipe. What the arms share (tokens or compute, seeds, text and vocabulary) is checked before a
file is opened, so that the difference of two arms is the difference of their recipes and of nothing else.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from spanwise.config import difference, override, part, to_record
from spanwise.errors import ConfigError
from spanwise.pretraining.recipe import PretrainingRecipe, identity_record
from spanwise.pretraining.system import check
from spanwise.studies.phases import FirstPhase, Leg, first_of, legs_of
from spanwise.studies.probes import Probe, find_probe
from spanwise.training.plan import HARMLESS_OPTIONS, LENGTHS

CONTROL = "random weights"
_ARM_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_RESERVED = ("control", "measures")  # folders of the study's own begin so


Tokens = Annotated[int, Field(strict=True, gt=0, le=10**16)]
Amount = Annotated[float, Field(strict=True, gt=0, le=1e30)]


@part("study")
class Study:
    """The arms that are compared, and the probes they are measured by.

    Exactly one thing is equal for all arms: `tokens` (real tokens that every arm reads; by arm where they are not to
    be equal), `compute` (training operations of every arm; larger encoders then read less), `seconds` (wall-clock time
    of training, turned into tokens by the rate of each arm on this machine, which is measured once at the start), or
    with none of them the `training.max_tokens` that all recipes share.
    `control="random weights"` measures the weights that training began with beside every arm, without what `initial`
    counts in the text: those are random too. The first arm is the one that a reader should take for the ordinary:
    later arms are compared with all before them. `first` names arms that begin with a phase of another recipe: both
    phases together have the budget of one arm.
    """

    name: str
    question: str
    arms: Mapping[str, PretrainingRecipe]
    tokens: Tokens | Mapping[str, Tokens] | None = None
    compute: Amount | None = None
    seconds: Amount | None = None
    probes: tuple[str | Probe, ...] = ("masked-tokens",)
    control: Literal["random weights", "none"] = "random weights"
    notes: tuple[str, ...] = ()  # what a reader of the table should know, a sentence each
    first: Mapping[str, FirstPhase] = field(default_factory=dict)  # by arm

    @property
    def found_probes(self) -> tuple[Probe, ...]:
        """The probes; those that are named are looked up. Raises: ConfigError with the nearest name."""
        return tuple(find_probe(probe) if isinstance(probe, str) else probe for probe in self.probes)

    @property
    def legs(self) -> dict[str, Leg]:
        """All training runs of a seed by name: the arms, and the first phases of those that have one."""
        return legs_of(self.arms, self.first)


def check_study(study: Study) -> None:
    """Refuse a study whose table would not answer its question, before a file is opened.

    Raises: ConfigError naming the arms and what is wrong with them.
    """
    if len(study.arms) < 2:
        had = f"only '{next(iter(study.arms))}'" if study.arms else "none"
        raise ConfigError(f"study '{study.name}' needs two arms to compare, and has {had}.")
    _check_first(study)
    for name, leg in study.legs.items():
        _check_arm(study, name, leg.recipe)
    _check_budget(study)
    seeds = {name: leg.recipe.training.seed for name, leg in study.legs.items()}
    _refuse_unlike(study, "training.seed", seeds, "a seed is shared by all arms: differences are paired by it")
    words = {name: to_record(leg.recipe.tokenizer) for name, leg in study.legs.items()}
    _refuse_unlike(study, "tokenizer", words, "all arms read one text in one vocabulary")
    for a, b in itertools.combinations(study.arms, 2):
        if _phases(study, a) == _phases(study, b):
            raise ConfigError(f"study '{study.name}': arms '{a}' and '{b}' are the same recipe; change one.")
    for probe in study.probes:
        if isinstance(probe, type):
            raise ConfigError(f"study '{study.name}': the probe {probe.__name__} is a class; write {probe.__name__}().")
    probes = study.found_probes
    if not probes:
        raise ConfigError(f"study '{study.name}' has no probe; name one, such as 'masked-tokens'.")
    names = [probe.name for probe in probes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"study '{study.name}' names the probe '{name}' twice.")


def _check_arm(study: Study, name: str, recipe: PretrainingRecipe) -> None:
    if not _ARM_NAME.fullmatch(name) or name.startswith(_RESERVED):
        raise ConfigError(
            f"study '{study.name}': an arm can't be called {name!r}; small letters, digits, dots and dashes make a "
            f"name, and {' and '.join(_RESERVED)} are the study's own."
        )
    try:
        check(recipe)
    except ConfigError as error:
        raise ConfigError(f"study '{study.name}', arm '{name}': {error}") from error


def _check_first(study: Study) -> None:
    """Raises: ConfigError for a first phase without its arm, or of another encoder: its weights are gone on with."""
    for arm, phase in study.first.items():
        if arm not in study.arms:
            raise ConfigError(
                f"study '{study.name}': '{arm}' has a first phase and is no arm of {', '.join(study.arms)}."
            )
        if first_of(arm) in study.arms:
            raise ConfigError(
                f"study '{study.name}': '{first_of(arm)}' is the name of the first phase of '{arm}'; rename the arm."
            )
        shapes = {name: to_record(one.encoder) for name, one in ((arm, study.arms[arm]), (first_of(arm), phase.recipe))}
        _refuse_unlike(study, "encoder", shapes, "an arm goes on with the weights of its first phase")


def _check_budget(study: Study) -> None:
    budgets = {"tokens": study.tokens, "compute": study.compute, "seconds": study.seconds}
    given = {name: value for name, value in budgets.items() if value is not None}
    if isinstance(study.tokens, Mapping) and set(study.tokens) != set(study.arms):
        raise ConfigError(
            f"study '{study.name}': tokens are given for {', '.join(study.tokens)}, the arms are "
            f"{', '.join(study.arms)}; give a number for every arm."
        )
    if len(given) > 1:
        raise ConfigError(f"study '{study.name}' has {len(given)} budgets, {' and '.join(given)}; keep one.")
    growing = [name for name, leg in study.legs.items() if leg.recipe.length_warmup.steps]
    if growing and study.tokens is None and given:
        raise ConfigError(
            f"study '{study.name}': arm '{growing[0]}' has a length warm-up, whose cost per token depends on how long "
            f"it trains; give the study tokens in place of {next(iter(given))}."
        )
    if given:
        return
    lengths = {
        name: {length: getattr(recipe.training, length) for length in LENGTHS if getattr(recipe.training, length)}
        for name, recipe in study.arms.items()
    }
    for name, length in lengths.items():
        if set(length) != {"max_tokens"}:
            had = ", ".join(f"training.{key}={value}" for key, value in length.items()) or "no length"
            raise ConfigError(
                f"study '{study.name}': arm '{name}' has {had}, which says nothing about tokens; set the study's "
                "tokens, which every arm then reads."
            )
    _refuse_unlike(study, "training.max_tokens", lengths, "set the study's tokens, compute or seconds")


def _refuse_unlike(study: Study, what: str, values: Mapping[str, object], why: str) -> None:
    """Raises: ConfigError where two arms differ in what they must share."""
    (first, wanted), *others = values.items()
    for name, value in others:
        if value != wanted:
            if isinstance(value, dict):
                places = difference(wanted, value)
                shown = "; ".join(f"{path}: {a} and {b}" for path, a, b in places)
            else:
                shown = f"{wanted} and {value}"
            raise ConfigError(f"study '{study.name}': arms '{first}' and '{name}' differ in {what} ({shown}): {why}.")


def changed_study(
    study: Study,
    *,
    tokens: int | None = None,
    seconds: float | None = None,
    overrides: Sequence[str] = (),
    probes: Sequence[str] = (),
) -> Study:
    """Return the study with another budget, `path=value` changes made in every arm, or other probes.

    Raises: ConfigError, also for a change of what the study decides itself: seeds and budget.
    """
    for change in overrides:
        path = change.partition("=")[0].strip()
        if path == "training.seed":
            raise ConfigError(f"--set {change}: a study trains every arm from the seeds 0, 1, ...; give --seeds.")
        if path in {f"training.{name}" for name in LENGTHS}:
            raise ConfigError(f"--set {change}: the study decides the length of its arms; give --tokens or --budget.")
    arms = {name: override(recipe, list(overrides)) for name, recipe in study.arms.items()}
    first = {arm: replace(phase, recipe=override(phase.recipe, list(overrides))) for arm, phase in study.first.items()}
    changed = replace(study, arms=arms, first=first)
    if tokens is not None and seconds is not None:
        raise ConfigError("--tokens and --budget are two budgets; give one.")
    if tokens is not None or seconds is not None:
        changed = replace(changed, tokens=tokens, seconds=seconds, compute=None)
    if probes:
        own = {probe.name: probe for probe in study.found_probes}
        changed = replace(changed, probes=tuple(own.get(name) or find_probe(name) for name in probes))
    return changed


def arm_record(recipe: PretrainingRecipe) -> dict[str, Any]:
    """Return what makes an arm itself: its recipe without names, seed, length and what changes no trained number."""
    record = identity_record(recipe)
    for name in ("name", "differences"):
        del record[name]
    for name in (*HARMLESS_OPTIONS, *LENGTHS, "seed"):
        record["training"].pop(name, None)
    return record


def first_record(phase: FirstPhase) -> dict[str, Any]:
    """Return what makes a first phase itself: its recipe as that of an arm, and its share."""
    return {"share": phase.share, "recipe": arm_record(phase.recipe)}


def _phases(study: Study, arm: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    phase = study.first.get(arm)
    return arm_record(study.arms[arm]), None if phase is None else first_record(phase)


def difference_from_first(study: Study, arm: str) -> list[tuple[str, Any, Any]]:
    """Return what an arm differs in from the first arm, as `arm_difference`; a first phase is named by its recipe."""
    reference, *_ = study.arms
    found = arm_difference(study.arms[reference], study.arms[arm])
    before, phase = study.first.get(reference), study.first.get(arm)
    if phase != before:
        found.append(("first phase", _in_words(before), _in_words(phase)))
    return found


def _in_words(phase: FirstPhase | None) -> str:
    return "none" if phase is None else f"{phase.recipe.name} for {phase.share:.0%} of the budget"


def arm_difference(first: PretrainingRecipe, other: PretrainingRecipe) -> list[tuple[str, Any, Any]]:
    """Return what two arms differ in, as (path, value of the first, value of the other).

    A part that is another one is named without its values.
    """
    found = difference(arm_record(first), arm_record(other))
    replaced = tuple(path.removesuffix("part") for path, _, _ in found if path.endswith(".part"))
    return [
        (path.removesuffix(".part"), a, b)
        for path, a, b in found
        if not path.removesuffix(".part").startswith(replaced)
    ]


def seeded(recipe: PretrainingRecipe, *, tokens: int, seed: int) -> PretrainingRecipe:
    """Return the recipe of one run of an arm."""
    lengths: dict[str, Any] = {**dict.fromkeys(LENGTHS), "max_tokens": tokens}
    return replace(recipe, training=replace(recipe.training, seed=seed, **lengths))
