"""A study made ready: files found, text opened, every arm's tokens settled, and the models that there will be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from spanwise.config import to_record
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.corruption.base import Symbols
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import check_inputs
from spanwise.runtime.device import choose_device
from spanwise.runtime.files import sha256_of
from spanwise.runtime.progress import RunLog
from spanwise.runtime.seed import derive_key
from spanwise.runtime.tracking import check_trackers
from spanwise.studies.budget import Budget, flops_per_token, settle_budget
from spanwise.studies.folder import StudyFolder
from spanwise.studies.phases import first_of
from spanwise.studies.probes import Material, Probe, find_files
from spanwise.studies.study import Study, arm_record, check_study, first_record, seeded

SAME_COMMAND = "(the same command as before)"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One model of the study: an arm trained from a seed, or the control of an arm (`of`) at that seed."""

    of: str
    seed: int
    is_control: bool = False

    @property
    def name(self) -> str:
        """The name of the model's folders: ARM-SEED, or control-ARM-SEED."""
        return f"{'control-' if self.is_control else ''}{self.of}-{self.seed}"


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """Everything that is settled before the first step; plain values, so that another process can take it."""

    study: Study
    folder: StudyFolder
    seeds: tuple[int, ...]
    budget: Budget
    flops: Mapping[str, float]  # that each leg needs per token
    data: Path
    valid: Path | None
    files: Mapping[str, Mapping[str, Path]]  # of each probe
    hashes: Mapping[str, Mapping[str, str]]  # of those files
    identity: Mapping[str, object]
    device: str | None = None
    log_to: tuple[str, ...] = ()  # trackers of every run
    resume_command: str = SAME_COMMAND

    @cached_property
    def units(self) -> list[Unit]:
        """All models, seed by seed, so that a study that is cut short has whole pairs."""
        controls = self.control_arms if self.study.control != "none" else {}
        return [
            unit
            for seed in self.seeds
            for unit in (
                *(Unit(of=arm, seed=seed) for arm in self.study.arms),
                *(Unit(of=arm, seed=seed, is_control=True) for arm in dict.fromkeys(controls.values())),
            )
        ]

    @cached_property
    def control_arms(self) -> dict[str, str]:
        """For every arm the one whose control is its own: arms of one encoder begin with the same weights."""
        starts = {name: to_record([recipe.encoder, recipe.initial]) for name, recipe in self.study.arms.items()}
        return {name: next(arm for arm in starts if starts[arm] == start) for name, start in starts.items()}

    def recipe(self, unit: Unit) -> PretrainingRecipe:
        """Return the recipe that a model is trained by, or would be: a control has the heads of all its arms.

        After a first phase the order of the text is another one, or the arm would read the same text twice where the
        others go on to more.
        """
        is_second = unit.of in self.study.first and not unit.is_control
        seed = derive_key(unit.seed, "second phase") if is_second else unit.seed
        recipe = seeded(self.study.arms[unit.of], tokens=self.budget.tokens[unit.of], seed=seed)
        if not unit.is_control:
            return recipe
        sharing = [arm for arm, of in self.control_arms.items() if of == unit.of]
        objectives = {name: part for arm in reversed(sharing) for name, part in self.study.arms[arm].objectives.items()}
        return replace(recipe, objectives=objectives, corruption=Symbols())

    def first_recipe(self, unit: Unit) -> PretrainingRecipe | None:
        """Return the recipe of the first phase of a run, or None where its arm has none."""
        phase = self.study.first.get(unit.of)
        if phase is None:
            return None
        return seeded(phase.recipe, tokens=self.budget.tokens[first_of(unit.of)], seed=unit.seed)

    def model(self, unit: Unit) -> Path:
        """Return the folder of a model's weights."""
        if unit.is_control:
            return self.folder.control(unit.of, unit.seed)
        return self.folder.run(unit.of, unit.seed).final

    def material(self, probe: Probe) -> Material:
        """Return what a probe measures on."""
        store = TokenStore.open(self.data)
        return Material(
            store=store,
            valid=None if self.valid is None else TokenStore.open(self.valid, store.tokenizer()),
            files=self.files[probe.name],
            cuts=self.folder.cuts(probe.name),
            max_length=self.max_length,
        )

    @property
    def max_length(self) -> int:
        """The longest sequence that every arm has met."""
        return min(recipe.format.max_length for recipe in self.study.arms.values())

    def settings(self, probe: Probe) -> dict[str, object]:
        """Return what figures of a probe depend on beside the model."""
        return {"probe": to_record(probe), "files": dict(self.hashes[probe.name]), "max_length": self.max_length}


def plan_study(
    study: Study,
    *,
    data: str | Path,
    out: str | Path,
    seeds: int = 3,
    valid: str | Path | None = None,
    probe_data: str | Path | None = None,
    device: str | None = None,
    jobs: int = 1,
    log_to: Sequence[str] = (),
    log: RunLog | None = None,
    resume_command: str = SAME_COMMAND,
) -> StudyPlan:
    """Check the study and everything it will need, and settle how many tokens every arm reads; nothing is written.

    `jobs` of more than 1 say that every run has one thread: the rates of a budget of seconds are measured so. `log_to`
    names the trackers of every run.
    Raises: ConfigError, DataError.
    """
    check_study(study)
    check_trackers(log_to)
    choose_device(device)  # a device that is not there is told now
    if seeds < 1:
        raise ConfigError(f"a study needs a seed or more, got --seeds {seeds}; three are usual.")
    without = next((probe.name for probe in study.found_probes if probe.needs_valid and valid is None), None)
    if without is not None:
        raise ConfigError(
            f"probe '{without}' measures on held-out text and there is none; make a store of text that is not in the "
            "training store (spanwise prepare) and name it with --valid STORE."
        )
    probe_folder = None if probe_data is None else Path(probe_data)
    files = {probe.name: find_files(probe, probe_folder) for probe in study.found_probes}
    store = TokenStore.open(data)
    held_out = None if valid is None else TokenStore.open(valid, store.tokenizer())
    _check_store(study, store)
    folder = StudyFolder(Path(out))
    flops = {name: flops_per_token(study, leg, store) for name, leg in study.legs.items()}
    budget = settle_budget(study, store, folder, flops, threads=1 if jobs > 1 else None, device=device, log=log)
    identity = {
        "format": "spanwise study, version 1",
        "control": study.control,
        **budget.identity,
        "store": store.sha256,
        "valid": None if held_out is None else held_out.sha256,
        "arms": {arm: arm_record(recipe) for arm, recipe in study.arms.items()},
        **({"first": {arm: first_record(phase) for arm, phase in study.first.items()}} if study.first else {}),
    }
    return StudyPlan(
        study=study,
        folder=folder,
        seeds=tuple(range(seeds)),
        budget=budget,
        flops=flops,
        data=Path(data),
        valid=None if valid is None else Path(valid),
        files=files,
        hashes={probe: {key: sha256_of(path) for key, path in found.items()} for probe, found in files.items()},
        identity=identity,
        device=device,
        log_to=tuple(log_to),
        resume_command=resume_command,
    )


def _check_store(study: Study, store: TokenStore) -> None:
    """Raises: DataError naming an arm that the store cannot feed."""
    for name, leg in study.legs.items():
        try:
            check_inputs(leg.recipe, store)
        except DataError as error:
            raise DataError(f"study '{study.name}', arm '{name}': {error}") from error
