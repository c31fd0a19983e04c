"""Pre-training as one call: text or a store in, a run folder out.

What is missing is made first and kept in the run folder: a tokenizer from the text, a token store from both. The
same call with `resume=True` finds what is there and goes on bit for bit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from spanwise.config import override, to_record
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint, warn_of_misfits
from spanwise.interop.folder_plan import FolderContent, plan_folder
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.corruption.folders import has_generator, read_generator, shaped_generator, write_generator
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.describe import flops_on_text
from spanwise.pretraining.formats.side_arrays import side_arrays_of
from spanwise.pretraining.growth import NO_GROWTH, Growth, PositionRows, TokenRows, asked_growth, grown
from spanwise.pretraining.initial.from_text import begin_from_text
from spanwise.pretraining.mask_record import RECORD_NAME as MASKS_NAME
from spanwise.pretraining.mask_record import mask_record
from spanwise.pretraining.mixtures.length_warmup import Source
from spanwise.pretraining.mixtures.mixture import Data, Mixture, mixture_of, open_mixture, read_data
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe, identity_record
from spanwise.pretraining.system import (
    build_model,
    check,
    check_inputs,
    check_weights,
    continue_model,
    pack_parts,
    shaped_like,
    training_source,
    validation_source,
)
from spanwise.runtime.device import choose_device, resolve_precision
from spanwise.runtime.distributed import Group, join_processes
from spanwise.runtime.files import refuse_edited, write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.text.corpus import CorpusOptions, corpus_files
from spanwise.text.extend import with_roles
from spanwise.text.learn import learn_tokenizer
from spanwise.text.taggers import find_tagger
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import TrainingResult, train
from spanwise.training.plan import LENGTHS, with_one_length
from spanwise.training.run_folder import RunFolder, claim_run_folder

TOKENIZER_FOLDER = "tokenizer"
VECTORS_NAME = "word-vectors.safetensors"
STORE_FOLDER = "store"
VALIDATION_FOLDER = "validation-store"
RECIPE_NAME = "recipe.json"
MAX_VALIDATION_TOKENS = 65_536  # enough for two digits, short enough to be asked for often

Paths = Sequence[str | Path] | str | Path


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Everything a run trains with, built and checked."""

    recipe: PretrainingRecipe
    tokenizer: Tokenizer
    mixture: Mixture  # of one store or several
    validation: TokenStore | None
    model: PretrainingModel
    source: Source
    identity: dict[str, Any]
    fresh_heads: tuple[str, ...] = ()
    growth: Growth = NO_GROWTH
    kept_heads: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)  # of the checkpoint, not trained on
    kept_descriptions: Mapping[str, Any] = field(default_factory=dict)  # what that checkpoint's record says of them
    model_type: str | None = None  # the family of the checkpoint that training goes on from
    began: float  # moment (`time.perf_counter`) from which seconds count: when text and vocabulary were there


def pretrain(
    recipe: PretrainingRecipe,
    *,
    out: str | Path,
    data: Data | None = None,
    text: Paths | None = None,
    valid: Paths | None = None,
    tokenizer: str | Path | None = None,
    init: str | Path | None = None,
    add_tokens: Sequence[str] | str | Path | None = None,
    token_rows: TokenRows = "mean",
    longer_positions: PositionRows | None = None,
    allow_edited: bool = False,
    budget: float | None = None,
    resume: bool = False,
    overrides: Sequence[str] = (),
    corpus: CorpusOptions | None = None,
    log: RunLog | None = None,
    device: str | None = None,
    resume_command: str = "",
) -> TrainingResult:
    """Train `recipe` on a token store (`data`) or on text files (`text`), and leave a model in `out/final`.

    `data` may also be several stores of one tokenizer with their shares of the tokens, `{"A": 0.7, "B": 0.3}` or
    `["A:0.7", "B:0.3"]`; a list without shares reads every store as often as its size asks.
    `valid` is a store or text files whose masks never change; `tokenizer` a folder to use instead of learning one;
    `init` a Hugging Face folder of any family to go on from, whose tokenizer and shape replace the recipe's. Its
    vocabulary grows by `add_tokens` (a list, or a file with one a line; `token_rows` says where their embeddings
    start), and with `longer_positions` its position table grows to the recipe's `encoder.max_positions`. Files of
    `init` that differ from its manifest are refused, unless `allow_edited`. `budget` is in seconds of wall-clock time
    from when text and vocabulary are prepared, first weights and compiling included, and replaces the recipe's length;
    `overrides` are `path=value` changes. Started as several processes (torchrun, or `spanwise pretrain --processes`),
    all call this alike and share each step's packs.

    Raises: ConfigError, DataError, CheckpointError, NumericsError, FolderInUseError, InterruptedAndSaved.
    """
    recipe = settled(recipe, overrides=overrides, budget=budget)
    if data is not None:
        read_data(data)  # its shares, before a file is opened
    if (data is None) == (text is None):
        raise ConfigError("give either data (a token store) or text (files to make one from), and not both.")
    if text is not None and not resume:
        for name in side_arrays_of(recipe.masking, recipe.word_unit):
            find_tagger(name)  # told now what a store of one's own needs, not when text has been learned from
    growth = asked_growth(add_tokens, token_rows, longer_positions, has_weights=init is not None)
    for paths in () if resume else (text, valid):  # before a wrong name leaves a run folder behind
        if paths is not None and not (isinstance(paths, str | Path) and Path(paths).is_dir()):
            corpus_files(paths)
    with join_processes() as group, contextlib.ExitStack() as stack:
        is_leader = group is None or group.world.is_leader
        log = log or RunLog(out) if is_leader else RunLog(None)
        folder = stack.enter_context(claim_run_folder(out, resume=resume)) if is_leader else RunFolder(Path(out))
        if group is not None:
            check_processes(recipe, group)
            if not is_leader:
                group.gather(None)  # the leader has made what was missing
        ready = make_ready(
            recipe,
            folder,
            data=data,
            text=text,
            valid=valid,
            tokenizer=tokenizer,
            init=init,
            growth=growth,
            allow_edited=allow_edited,
            corpus=corpus,
            log=log,
        )
        if is_leader and not folder.plan.exists():  # a refused resume must leave the first record
            write_text_atomic(folder.path / RECIPE_NAME, _json(to_record(ready.recipe)))
            write_text_atomic(folder.path / MASKS_NAME, _json(mask_record(ready.source.masked_step(0))))
        if group is not None and is_leader:
            group.gather(None)
        result = train(
            ready.model,
            ready.source,
            ready.recipe.training,
            out,
            save_model=lambda target: save_pretrained(target, ready),
            evaluate=evaluation(ready, device),
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


def check_processes(recipe: PretrainingRecipe, group: Group) -> None:
    """Every process needs a pack of each step. Raises: ConfigError."""
    batch, size = recipe.batch, group.world.size
    if batch.packs_per_step < size:
        room = batch.tokens_per_step // size
        cure = f"--set batch.max_tokens={room}"
        if room < recipe.format.max_length:
            cure = f"--set batch.tokens_per_step={recipe.format.max_length * size} or fewer processes"
        raise ConfigError(
            f"a step of {batch.tokens_per_step:,} tokens is {batch.packs_per_step} pack(s) of {batch.max_tokens:,}, "
            f"too few for {size} processes; use {cure}."
        )


def settled(
    recipe: PretrainingRecipe, *, overrides: Sequence[str] = (), budget: float | None = None
) -> PretrainingRecipe:
    """The recipe with its changes, checked without opening a file. Raises: ConfigError."""
    recipe = override(recipe, with_one_length(overrides))
    if budget is not None:
        lengths: dict[str, Any] = {**dict.fromkeys(LENGTHS), "budget": float(budget)}
        recipe = replace(recipe, training=replace(recipe.training, **lengths))
    check(recipe)
    _ = recipe.training.length  # raises where a run has none
    return recipe


def make_ready(
    recipe: PretrainingRecipe,
    folder: RunFolder,
    *,
    data: Data | None,
    text: Paths | None,
    valid: Paths | None = None,
    tokenizer: str | Path | None = None,
    init: str | Path | None = None,
    growth: Growth = NO_GROWTH,
    allow_edited: bool = False,
    corpus: CorpusOptions | None = None,
    log: RunLog,
) -> Ready:
    """Learn, prepare and build what the run needs; parts that already lie in the run folder are taken as they are."""
    checkpoint = read_folder(init) if init is not None else None
    if checkpoint is not None:
        checkpoint.check_native("pre-training")
        refuse_edited(checkpoint.folder, is_allowed=allow_edited, say=log.say)
    generator = read_generator(checkpoint) if checkpoint and isinstance(recipe.corruption, Generator) else None
    words = _tokenizer(recipe, folder, data, text, tokenizer, checkpoint, corpus, log)
    roles = pack_parts(recipe).roles
    if checkpoint is None:
        words = with_roles(words, roles)
    else:
        more: dict[str, Any] = {"max_positions": recipe.encoder.max_positions, "seed": recipe.training.seed}
        more["roles"] = roles
        if generator is not None and isinstance(recipe.corruption, Generator):
            generator, _ = grown(generator, words, growth, **more)
            shaped = shaped_generator(recipe.corruption, generator, checkpoint.config)
            recipe = replace(recipe, corruption=shaped)
        checkpoint, words = grown(checkpoint, words, growth, log=log, **more)
        check_weights(recipe, checkpoint, words.vocab_size)
        recipe = shaped_like(recipe, checkpoint.config)  # what is recorded is what is trained
    tags = side_arrays_of(recipe.masking, recipe.word_unit)
    try:
        mixture = (
            open_mixture(data, words)
            if data is not None
            else mixture_of(_store(text, folder.path / STORE_FOLDER, words, corpus, tags, log))
        )
    except DataError as error:
        if data is None or not growth.add_tokens:
            raise
        made = "spanwise prepare TEXT --tokenizer INIT --add-tokens FILE --out STORE"
        raise DataError(f"{error} A store with added tokens is made by `{made}`.") from error
    validation = _validation(valid, folder.path / VALIDATION_FOLDER, words, corpus, tags, log)
    began = time.perf_counter()
    if len(mixture.parts) > 1:
        log.say(f"Reading {mixture} of the tokens.")
    for part in mixture.parts:
        check_inputs(recipe, part.store, checkpoint)
    if data is not None and checkpoint is None:
        _tell_other_tokenizer(recipe, mixture, words, log)
    if checkpoint is None:
        model, fresh, kept = build_model(recipe, mixture.vocabulary.size), tuple(recipe.objectives), {}
        begin_from_text(model, recipe, mixture, folder.path / VECTORS_NAME, log)
    else:
        model, fresh = continue_model(recipe, checkpoint, generator)
        log.say(f"Going on from {checkpoint.folder}: {checkpoint.report}; fresh heads: {', '.join(fresh) or 'none'}.")
        kept = {name: head for name, head in checkpoint.heads.items() if head and name not in recipe.objectives}
        if kept:
            log.say(f"This recipe does not train {', '.join(sorted(kept))}; heads.safetensors keeps what was there.")
        if generator is None and has_generator(checkpoint.folder):
            log.say(f"This recipe has no generator; the one of {checkpoint.folder} is left out.")
        if not log.is_shown:
            warn_of_misfits(checkpoint)
    model_type = checkpoint.model_type if checkpoint is not None else None
    heads = dict(model.heads.items())
    plan = plan_folder(
        folder.final,
        FolderContent(encoder=model.encoder, heads=heads, tokenizer=words, model_type=model_type, kept=kept),
    )
    for note in plan.written.notes:  # told before hours are spent, and again on the model's card
        log.say(f"{folder.final}: {note}")
    record_before = checkpoint.record if checkpoint is not None else {}
    record = identity_record(recipe)
    del record["training"]  # the loop compares these values itself, and knows which of them are harmless
    del record["differences"]  # sentences for people
    identity = {
        "recipe": record,
        "store": mixture.identity,
        "tokenizer": words.sha256,
        "init": _init_identity(checkpoint, generator),
    }
    return Ready(
        recipe=recipe,
        tokenizer=words,
        mixture=mixture,
        validation=validation,
        model=model,
        source=training_source(recipe, mixture),
        identity=identity,
        fresh_heads=fresh,
        growth=growth,
        kept_heads=kept,
        kept_descriptions=descriptions_of_heads(record_before),
        model_type=model_type,
        began=began,
    )


def save_pretrained(folder: Path, ready: Ready) -> None:
    """Write the Hugging Face folder of a run, for the class that holds most heads it trains; the others lie beside it,
    and a generator in a folder of its own."""
    written = write_folder(
        folder,
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
        },
    )
    if isinstance(ready.model.corruption, TokenGenerator):
        write_generator(folder, ready.model.corruption, ready.tokenizer, written.model_type)


def evaluation(ready: Ready, device: str | None = None) -> Callable[[], Mapping[str, float]] | None:
    """Losses on the validation store: every time the same packs under the same masks; None where there is no store."""
    if ready.validation is None:
        return None
    source = validation_source(ready.recipe, ready.validation)
    packs = min(source.num_packs(0), max(1, MAX_VALIDATION_TOKENS // ready.recipe.batch.max_tokens))
    where = choose_device(device)
    precision = resolve_precision(ready.recipe.training.precision, where)

    def evaluate() -> Mapping[str, float]:
        batches = (batch for index in range(packs) for batch in source.step(index))
        return evaluate_batches(ready.model, batches, device=where, precision=precision)

    return evaluate


def flops_per_token(ready: Ready) -> float:
    """Operations that training needs for one token of this store, forward and backward."""
    return flops_on_text(ready.recipe, ready.model, ready.source.tables)


def _tokenizer(
    recipe: PretrainingRecipe,
    folder: RunFolder,
    data: Data | None,
    text: Paths | None,
    given: str | Path | None,
    checkpoint: Checkpoint | None,
    corpus: CorpusOptions | None,
    log: RunLog,
) -> Tokenizer:
    if given is not None:
        return Tokenizer.load(given)
    if checkpoint is not None:
        if checkpoint.tokenizer_folder is None:
            raise CheckpointError(f"{checkpoint.folder} holds no tokenizer; name one with --tokenizer.")
        return Tokenizer.load(checkpoint.tokenizer_folder)
    if data is not None:
        return TokenStore.open(read_data(data)[0][0]).tokenizer()
    own = folder.path / TOKENIZER_FOLDER
    if not own.exists():
        wanted = recipe.tokenizer
        log.say(f"Learning a {wanted.kind} vocabulary of up to {wanted.vocab_size:,} pieces.")
        learn_tokenizer(
            cast(Paths, text),  # `pretrain` takes data or text
            vocab_size=wanted.vocab_size,
            kind=wanted.kind,
            cased=wanted.cased,
            unicode_form=wanted.unicode_form,
            boundaries=wanted.boundaries,
            roles=pack_parts(recipe).roles,
            max_length=recipe.encoder.max_positions,
            options=corpus,
            out=own,
        )
    return Tokenizer.load(own)


def _tell_other_tokenizer(recipe: PretrainingRecipe, mixture: Mixture, words: Tokenizer, log: RunLog) -> None:
    """Say it where the store's tokenizer is not of the recipe's kind: the model carries the recipe's name."""
    wanted = recipe.tokenizer
    asked, used = (
        f"{kind}, {'cased' if cased else 'uncased'}"
        for kind, cased in ((wanted.kind, wanted.cased), (words.kind, words.is_cased))
    )
    if asked != used:
        names = " and ".join(part.name for part in mixture.parts)
        log.say(f"{recipe.name} asks for {asked}; {names} was made with {used}: the store's is used.")


def _store(
    text: Paths | None,
    own: Path,
    words: Tokenizer,
    corpus: CorpusOptions | None,
    tags: Sequence[str],
    log: RunLog,
) -> TokenStore:
    if not own.exists():
        taggers = [find_tagger(name) for name in tags]
        report = prepare(cast(Paths, text), words, own, corpus, taggers=taggers)  # without data there is text
        log.say(
            f"Prepared {report.num_tokens:,} tokens of {report.num_documents:,} documents in {report.seconds:.1f} s "
            f"([UNK] {report.unknown_share:.2%})."
        )
    return TokenStore.open(own, words)


def _validation(
    valid: Paths | None,
    own: Path,
    words: Tokenizer,
    corpus: CorpusOptions | None,
    tags: Sequence[str],
    log: RunLog,
) -> TokenStore | None:
    if valid is None:
        return None
    if isinstance(valid, str | Path) and Path(valid).is_dir() and _is_store(Path(valid)):
        return TokenStore.open(valid, words)
    return _store(valid, own, words, corpus, tags, log)


def _is_store(folder: Path) -> bool:
    return (folder / "store.json").exists() or any(folder.glob("*.idx"))


def _init_identity(*checkpoints: Checkpoint | None) -> str | None:
    """A hash of the weights a run began with: going on with others would be another run."""
    given = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
    digest = hashlib.sha256()
    for checkpoint in given:
        for name in sorted(checkpoint.tensors):
            digest.update(name.encode())
            digest.update(checkpoint.tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest() if given else None


def _json(record: Any) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"
