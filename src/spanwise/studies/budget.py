"""The budget of a study: how many tokens every arm reads, for equal tokens, equal compute or equal wall-clock time.

Seconds are turned into tokens once, before the first step of the study: each arm is trained alone for a moment, in
rounds, and the fastest round is its rate. Rates and tokens are kept in study.json, so that neither a resumed study nor
a machine that is disturbed later changes how many tokens an arm reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.describe import flops_on_text
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import outline_model, training_source
from spanwise.reporting.calibrate import calibrate
from spanwise.runtime.processes.distributed import world_of_environment
from spanwise.runtime.progress import RunLog
from spanwise.studies.folder import StudyFolder, recorded_study
from spanwise.studies.phases import Leg
from spanwise.studies.study import Study, arm_record, seeded

ROUNDS, ROUND_SECONDS = 3, 4.0
SIZES_OF_UPDATES = ("learning_rate", "warmup_steps", "schedule")
SPEEDS = ("threads", "compile", "deterministic", "exact_sums", "sharding")
"""Options that change no trained number of an arm, and how long a step takes."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The budget that is equal for all arms, and the tokens that follow from it for each of their legs."""

    kind: Literal["tokens", "compute", "seconds"]
    tokens: Mapping[str, int]  # that each leg reads: by ARM, and ARM.first where an arm has a first phase
    value: float | None = None  # operations or seconds of every arm
    rates: Mapping[str, float] = field(default_factory=dict)  # tokens per second that were measured, for "seconds"

    @property
    def identity(self) -> dict[str, object]:
        """The part of study.json that must stay equal."""
        by_time = {"seconds": self.value, "rates": dict(self.rates)} if self.kind == "seconds" else {}
        return {"tokens": dict(self.tokens), **by_time}


def settle_budget(
    study: Study,
    store: TokenStore,
    folder: StudyFolder,
    flops: Mapping[str, float],
    *,
    threads: int | None = None,
    device: str | None = None,
    log: RunLog | None = None,
) -> Budget:
    """Return the tokens of every leg; rates of a budget of seconds are measured, or read where they are kept.

    `flops` are the operations that each leg needs per token, `threads` those of every run, where they are not its
    recipe's. Nothing is written.
    Raises: ConfigError for a folder with something else, and where several processes would measure.
    """
    if study.seconds is not None:
        rates = _kept_rates(study, folder)
        if rates is None:
            rates = _measured_rates(study, store, threads, device, log or RunLog(None, stream=None))
        tokens = {name: max(1, round(leg.share * study.seconds * rates[name])) for name, leg in study.legs.items()}
        return Budget(kind="seconds", value=study.seconds, tokens=tokens, rates=rates)
    if study.compute is not None:
        tokens = {name: max(1, round(leg.share * study.compute / flops[name])) for name, leg in study.legs.items()}
        return Budget(kind="compute", value=study.compute, tokens=tokens)
    tokens = {
        name: tokens_of(study, leg) or max(1, round(leg.share * study.arms[leg.arm].training.length[1]))
        for name, leg in study.legs.items()
    }
    return Budget(kind="tokens", tokens=tokens)


def tokens_of(study: Study, leg: Leg) -> int | None:
    """Return the tokens that the study gives a leg, or None where the arm's recipe says them."""
    given = study.tokens[leg.arm] if isinstance(study.tokens, Mapping) else study.tokens
    return None if given is None else max(1, round(leg.share * given))


def flops_per_token(study: Study, leg: Leg, store: TokenStore) -> float:
    """Return the training operations that a leg needs per token of this text."""
    recipe, tokens = leg.recipe, tokens_of(study, leg)
    if tokens is not None:
        recipe = seeded(recipe, tokens=tokens, seed=0)
    model = outline_model(recipe, store.vocabulary.size)
    return flops_on_text(recipe, model, training_source(recipe, store).tables)


def _kept_rates(study: Study, folder: StudyFolder) -> dict[str, float] | None:
    """Return the rates that a study in this folder was begun with, or None where there is no study.

    Where the study there is another one, `settle` refuses it; any rate serves until then.
    """
    there = recorded_study(folder)
    if there is None:
        return None
    kept: dict[str, float] = there.get("rates", {})
    return {name: kept.get(name, 0.0) for name in study.legs}


def _measured_rates(
    study: Study, store: TokenStore, threads: int | None, device: str | None, log: RunLog
) -> dict[str, float]:
    """Train each leg alone, by turns, and return the rate of its fastest round in real tokens per second.

    Legs of one cost are tried once for all of them: chance must not give one of them more text than another.
    """
    if world_of_environment().size > 1:
        raise ConfigError(
            f"study '{study.name}' gives every arm {study.seconds:g} seconds, whose tokens are measured by one process "
            "alone; leave --processes out, or give --tokens."
        )
    recipes = {name: leg.recipe for name, leg in study.legs.items()}
    if threads is not None:
        recipes = {arm: replace(one, training=replace(one.training, threads=threads)) for arm, one in recipes.items()}
    costs = {name: _cost(recipe) for name, recipe in recipes.items()}
    tried = {name: next(other for other in costs if costs[other] == cost) for name, cost in costs.items()}
    rates = dict.fromkeys(tried.values(), 0.0)
    threads_before = torch.get_num_threads()
    for _ in range(ROUNDS):
        for name in rates:
            measured = calibrate(recipes[name], store, seconds=ROUND_SECONDS, device=device)
            rates[name] = max(rates[name], measured.tokens_per_second)
            torch.set_num_threads(threads_before)
    for name, rate in rates.items():
        log.say(f"{name}: {rate:,.0f} tokens per second, alone")
    return {name: rates[like] for name, like in tried.items()}


def _cost(recipe: PretrainingRecipe) -> dict[str, Any]:
    """Return what the speed of a recipe hangs on: what makes it an arm but the size of its updates, and how it is
    computed."""
    record = arm_record(recipe)
    record["batch"]["packs"] = recipe.batch.packs
    record["training"] |= {name: getattr(recipe.training, name) for name in SPEEDS}
    for name in SIZES_OF_UPDATES:
        record["training"].pop(name, None)
    return record
