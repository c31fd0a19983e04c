"""The tokenizer, the stores and the model of a run: learned, prepared and built where they are not there yet.

What is made is kept in the run folder, and taken from there when the run goes on.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from torch import Tensor

from spanwise.data.prepare import prepare
from spanwise.data.token_store import STORE_NAME, TokenStore
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint, read_tokenizer, warn_of_misfits
from spanwise.interop.combined.reading import tasks_left_out
from spanwise.interop.folder_plan import FolderContent, plan_folder
from spanwise.interop.huggingface import read_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.interop.sources import find_tokenizer
from spanwise.interop.tensor_files import sha256_of_tensors
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.corruption.folders import has_generator, read_generator, shaped_generator
from spanwise.pretraining.formats.side_arrays import side_arrays_of
from spanwise.pretraining.initial.from_text import begin_from_text
from spanwise.pretraining.initial.growth import NO_GROWTH, Growth, PositionRows, TokenRows, asked_growth, grown
from spanwise.pretraining.learned import Paths, check_origins, learned_texts
from spanwise.pretraining.mixtures.length_warmup import Source
from spanwise.pretraining.mixtures.mixture import Data, Mixture, mixture_of, open_mixture, read_data
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe, identity_record
from spanwise.pretraining.system import (
    build_model,
    check_inputs,
    check_weights,
    continue_model,
    pack_parts,
    shaped_like,
    training_source,
)
from spanwise.runtime.files import refuse_edited
from spanwise.runtime.progress import RunLog
from spanwise.runtime.remote.paths import RemotePath, path_of
from spanwise.runtime.wording import counted
from spanwise.text.corpus import CorpusOptions, corpus_files
from spanwise.text.extend import with_roles
from spanwise.text.learn import learn_tokenizer
from spanwise.text.taggers import find_tagger
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.run_folder import RunFolder
from spanwise.weights.learned_from import Learned, Origin, learned_by

TOKENIZER_FOLDER = "tokenizer"
VECTORS_NAME = "word-vectors.safetensors"
STORE_FOLDER = "store"
VALIDATION_FOLDER = "validation-store"


class Inputs(TypedDict, total=False):
    """The inputs of a run: text or stores, and weights to go on from where there are any.

    `data` is a token store, or several of one tokenizer with their shares of the tokens, `{"A": 0.7, "B": 0.3}` or
    `["A:0.7", "B:0.3"]`; a list without shares reads every store as often as its size asks. `init` is a model folder of
    any family, whose tokenizer and shape replace the recipe's. Its vocabulary grows by `add_tokens` (a list, or a file
    with one per line), and with `longer_positions` its position table to the recipe's `encoder.max_positions`.
    """

    data: Data | None
    text: Paths | None  # files to make a store from
    valid: Paths | None  # a store or text files whose masks never change; of long ones the first packs are measured
    tokenizer: str | Path | None  # a folder to use instead of learning one
    init: str | Path | None
    add_tokens: Sequence[str] | str | Path | None
    token_rows: TokenRows  # where the embeddings of added tokens start
    longer_positions: PositionRows | None
    keeps_tasks: bool  # who calls carries the tasks of `init` over; else it is said that they are left out
    allow_edited: bool  # take `init` although files of it differ from its manifest
    corpus: CorpusOptions | None
    origins: Sequence[Origin]  # licence and source of data or text: one for all, or one for each; () not stated


def check_given(recipe: PretrainingRecipe, inputs: Inputs, *, resume: bool) -> None:
    """Refuse what names no text, or text that is not there, before a run folder is made.

    Raises: ConfigError, DataError.
    """
    data, text = inputs.get("data"), inputs.get("text")
    num_stores = 1 if data is None else len(read_data(data))  # also checks its shares, before a file is opened
    if (data is None) == (text is None):
        raise ConfigError("give either data (a token store) or text (files to make one from), and not both.")
    check_origins(inputs.get("origins", ()), num_stores=num_stores, text=text)
    _growth_of(inputs)
    if resume:
        return
    if text is not None:
        for name in side_arrays_of(recipe.masking, recipe.word_unit):
            find_tagger(name)  # told now what a store of one's own needs, not when text has been learned from
    for paths in (text, inputs.get("valid")):
        if paths is not None and not (isinstance(paths, str | Path) and path_of(paths).is_dir()):
            corpus_files(paths)


def _growth_of(inputs: Inputs) -> Growth:
    return asked_growth(
        inputs.get("add_tokens"),
        inputs.get("token_rows", "mean"),
        inputs.get("longer_positions"),
        has_weights=inputs.get("init") is not None,
    )


@dataclass(frozen=True, kw_only=True)
class Start:
    """The weights that a run goes on from, of the encoder and of a generator; None where it starts fresh."""

    checkpoint: Checkpoint | None = None
    generator: Checkpoint | None = None

    @property
    def identity(self) -> str | None:
        """A hash of the weights: going on with others would be another run."""
        given = [one.tensors for one in (self.checkpoint, self.generator) if one is not None]
        return sha256_of_tensors(*given) if given else None


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The tokens that a run trains on and is measured on."""

    mixture: Mixture  # of one store or several
    validation: TokenStore | None


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
    growth: Growth = NO_GROWTH
    kept_heads: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)  # of the checkpoint, not trained on
    kept_descriptions: Mapping[str, Any] = field(default_factory=dict)  # what that checkpoint's record says of them
    learned: Sequence[Learned] = ()  # what the checkpoint learned from, and what this run does
    model_type: str | None = None  # the family of the checkpoint that training goes on from
    began: float  # moment (`time.perf_counter`) from which seconds count: when text and vocabulary were there

    def with_packs(self, number: int) -> "Ready":
        """Return the run with so many packs a step, in its recipe too: what is recorded is what is computed."""
        recipe = replace(self.recipe, batch=replace(self.recipe.batch, packs=number))
        identity = {**self.identity, "recipe": _identity(recipe)}
        return replace(self, recipe=recipe, source=training_source(recipe, self.mixture), identity=identity)


def _identity(recipe: PretrainingRecipe) -> dict[str, Any]:
    record = identity_record(recipe)
    del record["training"]  # the loop compares these values itself, and knows which of them are harmless
    del record["differences"]  # sentences for people
    return record


def make_ready(recipe: PretrainingRecipe, folder: RunFolder, inputs: Inputs, log: RunLog) -> Ready:
    """Learn, prepare and build what the run needs; parts that already lie in the run folder are taken as they are."""
    start, growth = _read_weights(recipe, inputs, log), _growth_of(inputs)
    words = _tokenizer(recipe, folder, inputs, start.checkpoint, log)
    recipe, start, words = _grow(recipe, start, words, growth, log)
    texts = _texts(recipe, folder, inputs, words, log)
    began = time.perf_counter()
    for part in texts.mixture.parts:
        check_inputs(recipe, part.store, start.checkpoint)
    model, kept = _model(recipe, start, texts.mixture, folder, log)
    if recipe.frozen == "encoder":
        model.encoder.requires_grad_(False)  # with it the word table that heads share
    checkpoint = start.checkpoint
    model_type = checkpoint.model_type if checkpoint is not None else None
    content = FolderContent(
        encoder=model.encoder, heads=dict(model.heads.items()), tokenizer=words, model_type=model_type, kept=kept
    )
    for note in plan_folder(folder.final, content).written.notes:  # told before hours are spent, and again on the card
        log.say(f"{folder.final}: {note}")
    texts_and_weights = {"store": texts.mixture.identity, "tokenizer": words.sha256, "init": start.identity}
    return Ready(
        recipe=recipe,
        tokenizer=words,
        mixture=texts.mixture,
        validation=texts.validation,
        model=model,
        source=training_source(recipe, texts.mixture),
        identity={"recipe": _identity(recipe), **texts_and_weights},
        growth=growth,
        kept_heads=kept,
        learned=[
            *([] if checkpoint is None else learned_by(checkpoint.record, str(inputs.get("init")))),
            *learned_texts(texts.mixture, inputs.get("text"), inputs.get("origins", ())),
        ],
        kept_descriptions=descriptions_of_heads(checkpoint.record) if checkpoint is not None else {},
        model_type=model_type,
        began=began,
    )


def _read_weights(recipe: PretrainingRecipe, inputs: Inputs, log: RunLog) -> Start:
    init = inputs.get("init")
    if init is None:
        return Start()
    checkpoint = read_folder(init)
    checkpoint.check_native("pre-training")
    refuse_edited(checkpoint.folder, is_allowed=inputs.get("allow_edited", False), say=log.say)
    if checkpoint.tasks and not inputs.get("keeps_tasks", False):
        log.say(tasks_left_out(checkpoint))
    generator = read_generator(checkpoint) if isinstance(recipe.corruption, Generator) else None
    return Start(checkpoint=checkpoint, generator=generator)


def _grow(
    recipe: PretrainingRecipe, start: Start, words: Tokenizer, growth: Growth, log: RunLog
) -> tuple[PretrainingRecipe, Start, Tokenizer]:
    """The given weights with what is added to them, and the recipe in their shape: what is recorded is what is trained.

    Raises: CheckpointError for weights that can't go on by this recipe.
    """
    checkpoint, generator, roles = start.checkpoint, start.generator, pack_parts(recipe).roles
    if checkpoint is None:
        return recipe, start, with_roles(words, roles)
    positions, seed = recipe.encoder.max_positions, recipe.training.seed
    if generator is not None and isinstance(recipe.corruption, Generator):
        generator, _ = grown(generator, words, growth, max_positions=positions, seed=seed, roles=roles)
        recipe = replace(recipe, corruption=shaped_generator(recipe.corruption, generator, checkpoint.config))
    checkpoint, words = grown(checkpoint, words, growth, max_positions=positions, seed=seed, roles=roles, log=log)
    check_weights(recipe, checkpoint, words.vocab_size)
    return shaped_like(recipe, checkpoint.config), Start(checkpoint=checkpoint, generator=generator), words


def _texts(recipe: PretrainingRecipe, folder: RunFolder, inputs: Inputs, words: Tokenizer, log: RunLog) -> Texts:
    data, text, valid = inputs.get("data"), inputs.get("text"), inputs.get("valid")
    corpus, tags = inputs.get("corpus"), side_arrays_of(recipe.masking, recipe.word_unit)
    if data is None:
        assert text is not None  # `check_given` asks for data or text
        mixture = mixture_of(_store(text, folder.path / STORE_FOLDER, words, corpus, tags, log))
    else:
        mixture = _open(data, words, inputs)
        if inputs.get("init") is None:
            _tell_other_tokenizer(recipe, mixture, words, log)
    if len(mixture.parts) > 1:
        log.say(f"Reading {mixture} of the tokens.")
    if valid is None:
        return Texts(mixture=mixture, validation=None)
    if isinstance(valid, str | Path) and _is_store(path_of(valid)):
        return Texts(mixture=mixture, validation=TokenStore.open(valid, words))
    validation = _store(valid, folder.path / VALIDATION_FOLDER, words, corpus, tags, log)
    return Texts(mixture=mixture, validation=validation)


def _is_store(path: Path) -> bool:
    return (path / STORE_NAME).exists() or (not isinstance(path, RemotePath) and any(path.glob("*.idx")))


def _open(data: Data, words: Tokenizer, inputs: Inputs) -> Mixture:
    try:
        return open_mixture(data, words)
    except DataError as error:
        if inputs.get("add_tokens") is None:
            raise
        made = "spanwise prepare TEXT --tokenizer INIT --add-tokens FILE --out STORE"
        raise DataError(f"{error} A store with added tokens is made by `{made}`.") from error


def _model(
    recipe: PretrainingRecipe, start: Start, mixture: Mixture, folder: RunFolder, log: RunLog
) -> tuple[PretrainingModel, dict[str, dict[str, Tensor]]]:
    """The model, and the heads of earlier training that this recipe does not train."""
    checkpoint = start.checkpoint
    if checkpoint is None:
        model = build_model(recipe, mixture.vocabulary.size)
        begin_from_text(model, recipe, mixture, folder.path / VECTORS_NAME, log)
        return model, {}
    model, fresh = continue_model(recipe, checkpoint, start.generator)
    log.say(f"Going on from {checkpoint.folder}: {checkpoint.report}; fresh heads: {', '.join(fresh) or 'none'}.")
    kept = {name: head for name, head in checkpoint.heads.items() if head and name not in recipe.objectives}
    if kept:
        log.say(f"This recipe does not train {', '.join(sorted(kept))}; heads.safetensors keeps what was there.")
    if start.generator is None and has_generator(checkpoint.folder):
        log.say(f"This recipe has no generator; the one of {checkpoint.folder} is left out.")
    if not log.is_shown:
        warn_of_misfits(checkpoint)
    return model, kept


def _tokenizer(
    recipe: PretrainingRecipe, folder: RunFolder, inputs: Inputs, checkpoint: Checkpoint | None, log: RunLog
) -> Tokenizer:
    given, data, text = inputs.get("tokenizer"), inputs.get("data"), inputs.get("text")
    if given is not None:
        words = Tokenizer.load(find_tokenizer(given))
        if checkpoint is not None:
            _check_same_pieces(words, given, checkpoint)
        return words
    if checkpoint is not None:
        own = read_tokenizer(checkpoint)
        if own is None:
            raise CheckpointError(f"{checkpoint.folder} holds no tokenizer; name one with --tokenizer.")
        return own
    if data is not None:
        return TokenStore.open(read_data(data)[0][0]).tokenizer()
    learned = folder.path / TOKENIZER_FOLDER
    if not learned.exists():
        assert text is not None  # `check_given` asks for data or text
        wanted = recipe.tokenizer
        log.say(f"Learning a {wanted.kind} vocabulary of up to {wanted.vocab_size:,} pieces.")
        learn_tokenizer(
            text,
            vocab_size=wanted.vocab_size,
            kind=wanted.kind,
            cased=wanted.cased,
            unicode_form=wanted.unicode_form,
            boundaries=wanted.boundaries,
            roles=pack_parts(recipe).roles,
            max_length=recipe.encoder.max_positions,
            options=inputs.get("corpus"),
            out=learned,
        )
    return Tokenizer.load(learned)


def _check_same_pieces(words: Tokenizer, given: str | Path, checkpoint: Checkpoint) -> None:
    """Refuse a tokenizer whose ids mean other pieces than those that the weights learned. Special pieces may differ: a
    role takes the place of a reserved one. Raises: CheckpointError."""
    own = None
    with contextlib.suppress(CheckpointError, DataError):  # a named tokenizer is the cure for one that can't be read
        own = read_tokenizer(checkpoint)
    if own is None or words.vocab_size > checkpoint.config.vocab_size:  # the second is refused before the model is made
        return
    ids = range(min(own.vocab_size, words.vocab_size))
    for number, mine, named in zip(ids, own.tokens(ids), words.tokens(ids), strict=True):
        if mine != named and number not in own.special_ids | words.special_ids:
            raise CheckpointError(
                f"id {number} is {mine!r} to the tokenizer of {checkpoint.folder} and {named!r} to {given}, so the "
                "weights would be those of other pieces. Leave --tokenizer out, or train without --init."
            )


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
    text: Paths, own: Path, words: Tokenizer, corpus: CorpusOptions | None, tags: Sequence[str], log: RunLog
) -> TokenStore:
    if not own.exists():
        report = prepare(text, words, own, corpus, taggers=[find_tagger(name) for name in tags])
        log.say(
            f"Prepared {counted(report.num_tokens, 'token')} of {counted(report.num_documents, 'document')} in "
            f"{report.seconds:.1f} s ([UNK] {report.unknown_share:.2%})."
        )
    return TokenStore.open(own, words)
