"""Pre-training as one call: text or a store in, a run folder out.

What is missing is made first and kept in the run folder: a tokenizer from the text, a token store from both. The
same call with `resume=True` finds what is there and goes on bit for bit.
"""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from spanwise.config import override, to_record
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.interop.json_files import read_json_object
from spanwise.pretraining.corruption.folders import write_generator
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.describe import check_room, flops_on_text, step_in_words
from spanwise.pretraining.mask_record import RECORD_NAME as MASKS_NAME
from spanwise.pretraining.mask_record import mask_record
from spanwise.pretraining.needs import hides_tokens
from spanwise.pretraining.packing.fitting import fitted, recorded_packs
from spanwise.pretraining.ready import Inputs, Ready, check_given, make_ready
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import check, validation_source
from spanwise.runtime.device import choose_device, resolve_precision
from spanwise.runtime.files import RECIPE_NAME, write_text_atomic
from spanwise.runtime.processes.distributed import Group, join_processes
from spanwise.runtime.progress import RunLog
from spanwise.runtime.remote.fetch import fetch_lost_run
from spanwise.runtime.remote.upload import kept_elsewhere
from spanwise.training.compiled.regions import is_wanted
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import TrainingResult, train
from spanwise.training.plan import LENGTHS, with_one_length
from spanwise.training.run_folder import RunFolder, claim_run_folder
from spanwise.weights.learned_from import LEARNED_FROM, as_record

Evaluation = Callable[[], Mapping[str, float]]
MAX_VALIDATION_TOKENS = 65_536  # enough for two digits, short enough to be asked for often


def pretrain(
    recipe: PretrainingRecipe,
    *,
    out: str | Path,
    budget: float | None = None,
    resume: bool = False,
    overrides: Sequence[str] = (),
    log: RunLog | None = None,
    device: str | None = None,
    resume_command: str = "",
    upload: str | None = None,
    evaluate: Callable[[Ready], Evaluation] | None = None,
    **inputs: Unpack[Inputs],
) -> TrainingResult:
    """Train `recipe` on a token store (`data`) or on text files (`text`), and leave a model in `out/final`.

    `Inputs` says what else a run may be given: `valid`, `tokenizer`, `init` and what is added to it. `budget` is in
    seconds of wall-clock time from when text and vocabulary are prepared, first weights and compiling included, and
    replaces the recipe's length; `overrides` are `path=value` changes. `evaluate` makes what measures the run, in place
    of the losses on `valid`; it may remember what it measured (`training.loop.RemembersEvaluations`). Started as
    several processes (torchrun, or `spanwise pretrain --processes`), all call this alike and share each step's packs.
    `upload` is an address (s3://..., as fsspec knows them) where the first of them keeps checkpoints and model too;
    with `resume`, a run that is lost here is fetched from there. Where the model does not arrive, it is an error.

    Raises: ConfigError, DataError, CheckpointError, NumericsError, FolderInUseError, InterruptedAndSaved.
    """
    recipe = settled(recipe, overrides=overrides, budget=budget)
    check_given(recipe, inputs, resume=resume)
    with contextlib.ExitStack() as stack, join_processes() as group:  # no peer waits for the end of an upload
        is_leader = group is None or group.world.is_leader
        log = log or RunLog(out) if is_leader else RunLog(None)
        if upload is not None:
            if is_leader:
                fetch_lost_run(out, upload, resume=resume, say=log.say)
            if group is not None:
                group.gather(None)  # nobody looks at the folder before the run is back
        recipe = with_shape(recipe, Path(out), device, resume=resume)
        if inputs.get("init") is None:
            check_room(recipe, device)
        folder = stack.enter_context(claim_run_folder(out, resume=resume)) if is_leader else RunFolder(Path(out))
        if is_leader:
            stack.enter_context(kept_elsewhere(out, upload, say=log.say))
        asked, most = recipe.batch.tokens_per_step, recipe.batch.most_tokens_per_step
        if is_leader and asked != most and not folder.plan.exists():
            log.say(f"A step has {step_in_words(asked, most)}.")
        ready = _ready_in_all(recipe, folder, inputs, group, log, device)
        result = train(
            ready.model,
            ready.source,
            ready.recipe.training,
            out,
            save_model=lambda target: save_pretrained(target, ready),
            evaluate=evaluation(ready, device, log) if evaluate is None else evaluate(ready),
            resume=resume,
            log=log,
            identity=ready.identity,
            device=device,
            flops_per_token=flops_per_token(ready),
            resume_command=resume_command,
            group=group,
            began=ready.began,
        )
        if result.steps <= ready.recipe.length_warmup.steps:
            longest = ready.recipe.format.max_length
            log.say(f"The run ended within its length warm-up: no sequence was cut at {longest} tokens.")
        return result


def _ready_in_all(
    recipe: PretrainingRecipe, folder: RunFolder, inputs: Inputs, group: Group | None, log: RunLog, device: str | None
) -> Ready:
    """Let the leader make what is missing and record the run; the other processes wait for it and find all there."""
    is_leader = group is None or group.world.is_leader
    if group is not None:
        check_processes(recipe, group, device)
        if not is_leader:
            group.gather(None)
    ready = make_ready(recipe, folder, inputs, log)
    if group is not None and is_leader:
        group.gather(None)
    recorded = recorded_packs(folder.path / RECIPE_NAME) if folder.plan.exists() else None
    ready = fitted(ready, recorded, device, group, log)
    if is_leader and not folder.plan.exists():  # a refused resume must leave the first record
        write_text_atomic(folder.path / RECIPE_NAME, _json(to_record(ready.recipe)))
        masks = mask_record(ready.source.masked_step(0))
        write_text_atomic(folder.path / MASKS_NAME, _json(masks))
        if hides_tokens(recipe.masking) and not masks["num_spans"]:
            log.say(
                f"Nothing is hidden in the {masks['num_tokens']:,} tokens of the first step: no span of this text "
                "recurs that is more than stop words. With a small text, raise masking.frequent_share."
            )
    return ready


def check_processes(recipe: PretrainingRecipe, group: Group, device: str | None = None) -> None:
    """Refuse more processes than a step has packs (a GPU has packs for all) or than there are GPUs. Raises:
    ConfigError."""
    batch, size = recipe.batch, group.world.size
    where = choose_device(device)
    group.check_device(where)
    if where.type == "cuda" and batch.packs == "auto":
        return
    number = batch.packs_per_step if batch.packs == "auto" else batch.packs
    if number < size:
        cure = f"--set batch.packs={size}"
        if batch.tokens_per_step // size < recipe.format.max_length:
            cure = f"--set batch.tokens_per_step={recipe.format.max_length * size} or fewer processes"
        raise ConfigError(
            f"a step of {batch.tokens_per_step:,} tokens is {number} pack(s), too few for {size} processes; use {cure}."
        )


def settled(
    recipe: PretrainingRecipe, *, overrides: Sequence[str] = (), budget: float | None = None
) -> PretrainingRecipe:
    """Return the recipe with its changes, checked without opening a file. Raises: ConfigError."""
    recipe = override(recipe, with_one_length(overrides))
    if budget is not None:
        _check_no_length(recipe, overrides, budget)
        lengths: dict[str, Any] = {**dict.fromkeys(LENGTHS), "budget": float(budget)}
        recipe = replace(recipe, training=replace(recipe.training, **lengths))
    check(recipe)
    _ = recipe.training.length, recipe.training.peak_rate  # raise where a run has none
    return recipe


def _check_no_length(recipe: PretrainingRecipe, overrides: Sequence[str], budget: float) -> None:
    """Refuse a budget beside another length that was asked for: one of them would be dropped. Raises: ConfigError."""
    changed = {assignment.partition("=")[0].strip() for assignment in overrides}
    for name in LENGTHS:
        value = getattr(recipe.training, name)
        if f"training.{name}" in changed and value is not None:
            raise ConfigError(
                f"budget {budget:g} s and training.{name}={value} are two lengths of one run; leave one of them out."
            )


def with_shape(recipe: PretrainingRecipe, out: Path, device: str | None, *, resume: bool) -> PretrainingRecipe:
    """Return the recipe with `batch.fixed` decided: by the run's own record where it goes on, else by whether this
    device compiles. A run keeps its packs, whatever device it goes on with."""
    if recipe.batch.fixed is not None:
        return recipe
    recorded, fixed = out / RECIPE_NAME, False
    if resume and recorded.exists():
        with contextlib.suppress(CheckpointError):  # damaged: another shape is refused as another recipe
            fixed = bool(read_json_object(recorded).get("batch", {}).get("fixed"))
    else:
        fixed = is_wanted(recipe.training.compile, choose_device(device))
    return replace(recipe, batch=replace(recipe.batch, fixed=fixed))


def save_pretrained(
    folder: Path, ready: Ready, *, facts: Sequence[str] = (), extra: Mapping[str, Any] | None = None
) -> None:
    """Write the Hugging Face folder of a run, for the class that holds most heads it trains; the others lie beside it,
    and a generator in a folder of its own. `facts` are sentences for the model card, `extra` entries of the record."""
    written = write_folder(
        folder,
        FolderContent(
            ready.model.encoder,
            dict(ready.model.heads.items()),
            ready.tokenizer,
            model_type=ready.model_type,
            kept=ready.kept_heads,
            extra={
                **ready.kept_descriptions,
                "recipe": to_record(ready.recipe),
                "store": ready.mixture.identity,
                **ready.growth.record,
                LEARNED_FROM: as_record(ready.learned),
                **(extra or {}),
            },
            facts=facts,
        ),
    )
    if isinstance(ready.model.corruption, TokenGenerator):
        write_generator(folder, ready.model.corruption, ready.tokenizer, written.model_type)


def evaluation(ready: Ready, device: str | None, log: RunLog) -> Evaluation | None:
    """Return what measures the losses on the validation store, every time on the same packs under the same masks; None
    where there is no store. Packs are the first ones, of `MAX_VALIDATION_TOKENS` in all; what is left out is told."""
    if ready.validation is None:
        return None
    source = validation_source(ready.recipe, ready.validation, counted=ready.mixture.vocabulary)
    there = source.num_packs(0)
    packs = min(there, max(1, MAX_VALIDATION_TOKENS // ready.recipe.batch.max_tokens))
    if packs < there:
        log.say(f"Measuring on the first {packs:,} of {there:,} packs of {ready.validation.path}, in stored order.")
    where = choose_device(device)
    precision = resolve_precision(ready.recipe.training.precision, where)

    def evaluate() -> Mapping[str, float]:
        batches = (batch for index in range(packs) for batch in source.step(index))
        return evaluate_batches(ready.model, batches, device=where, precision=precision)

    return evaluate


def flops_per_token(ready: Ready) -> float:
    """Return the operations that training needs for one token of this store, forward and backward."""
    return flops_on_text(ready.recipe, ready.model, ready.source.tables)


def _json(record: Any) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"
