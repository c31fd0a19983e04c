"""From a recipe to the things that train: checked without a file, checked against the data, then built."""

from dataclasses import is_dataclass, replace
from functools import partial
from typing import overload

from torch import nn

from spanwise.config.parts import field_names, is_ours
from spanwise.config.records import to_record
from spanwise.data.token_store import TokenStore
from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, fill
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder, Pooler
from spanwise.nn.init import initialize
from spanwise.pretraining.collate import PackParts
from spanwise.pretraining.corruption.folders import fill_generator
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.formats.side_arrays import check_side_arrays, side_arrays_of
from spanwise.pretraining.masking.adapter import FunctionMasking
from spanwise.pretraining.masking.base import ShorteningReplacement, left_by
from spanwise.pretraining.masking.nothing import NoReplacement
from spanwise.pretraining.masking.replacement import ALL_MASKED
from spanwise.pretraining.mixtures.length_warmup import GrowingSource, LengthWarmup, Source
from spanwise.pretraining.mixtures.mixed_source import MixedSource
from spanwise.pretraining.mixtures.mixture import Mixture
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.needs import check_encoder_needs, check_needs, hides_tokens
from spanwise.pretraining.objectives.base import Capacities
from spanwise.pretraining.objectives.trial import check_objective, try_objective
from spanwise.pretraining.packing.repacked import RepackedSource, share_of
from spanwise.pretraining.recipe import InitialWeights, PretrainingRecipe
from spanwise.pretraining.source import PretrainingSource
from spanwise.pretraining.trial import made_up_pack_of, maskings_in, try_corruption, try_masking
from spanwise.runtime.outline import outline
from spanwise.runtime.seed import derive_key
from spanwise.text.extend import with_roles
from spanwise.text.specials import role_piece
from spanwise.text.tokenizers import Tokenizer

VALIDATION_PURPOSE = 1_000_003  # mixed into the seed, so that validation masks are never those of training


def check(recipe: PretrainingRecipe) -> None:
    """Refuse what can't work, before any file is opened.

    Raises: ConfigError that names both parts.
    """
    _check_objectives(recipe)
    if recipe.frozen == "encoder" and recipe.corruption.objectives:
        raise ConfigError(
            f"frozen 'encoder' keeps the embeddings still, which {type(recipe.corruption).__name__} learns with its "
            "own; set frozen=nothing."
        )
    check_needs(recipe.format, recipe.trained_objectives, recipe.masking, recipe.corruption, recipe.replacement)
    _check_encoder(recipe, recipe.encoder)
    _check_masking(recipe)
    if recipe.format.max_length > recipe.encoder.max_positions:
        raise ConfigError(
            f"format.max_length {recipe.format.max_length} is longer than encoder.max_positions "
            f"{recipe.encoder.max_positions}; lower the first or raise the second."
        )
    if recipe.initial.positions == "sinusoidal" and not recipe.encoder.has_position_table:
        raise ConfigError(
            "initial.positions 'sinusoidal' starts the table of positions, and with encoder.rotary_base there is none; "
            "set initial.positions=normal."
        )
    if recipe.batch.max_tokens < recipe.format.max_length:
        raise ConfigError(
            f"batch.max_tokens {recipe.batch.max_tokens} holds no sequence of format.max_length "
            f"{recipe.format.max_length}; raise the first or lower the second."
        )
    if recipe.encoder.vocab_size:
        raise ConfigError(
            f"encoder.vocab_size {recipe.encoder.vocab_size} is set, but the tokenizer says how many ids there are; "
            "set tokenizer.vocab_size instead."
        )
    if recipe.length_warmup.steps:
        _short(recipe)  # refused by a format that has no such length
    _try_parts(recipe)
    to_record(recipe)  # a run keeps it; parts that no record can hold are refused


def _check_objectives(recipe: PretrainingRecipe) -> None:
    """Objectives are what they must be, and stand under their own names, each once. Raises: ConfigError."""
    places = {"objectives": recipe.objectives, "corruption.objectives": recipe.corruption.objectives}
    for place, objectives in places.items():
        for name, objective in objectives.items():
            check_objective(place, name, objective)
    for name in recipe.objectives.keys() & recipe.corruption.objectives.keys():
        raise ConfigError(
            f"objectives.{name} and corruption.objectives.{name} would be two losses of one name: "
            f"{type(recipe.corruption).__name__} learns '{name}' already. Remove one of them."
        )


def _try_parts(recipe: PretrainingRecipe) -> None:
    """Let every objective, masking and corruption that is not ours work on a made-up pack. Raises: ConfigError."""
    for masking in maskings_in(recipe.masking):
        if not is_ours(masking) or isinstance(masking, FunctionMasking):
            try_masking(masking)
    for name, objective in recipe.trained_objectives.items():
        if not is_ours(objective):
            try_objective(name, objective, recipe.encoder, made_up_pack_of(recipe))
    if not is_ours(recipe.corruption):
        try_corruption(recipe)


def _check_encoder(recipe: PretrainingRecipe, encoder: EncoderConfig) -> None:
    """Objectives, corruption and format get from the encoder what they need. Raises: ConfigError."""
    check_encoder_needs(encoder, recipe.trained_objectives)
    recipe.corruption.check(encoder.for_vocabulary(recipe.tokenizer.vocab_size))
    num_types = getattr(recipe.format, "num_token_types", 1)
    if num_types > max(1, encoder.num_token_types):
        raise ConfigError(
            f"format.num_token_types {num_types} is more than encoder.num_token_types {encoder.num_token_types}; "
            "lower the first or raise the second."
        )


def _check_masking(recipe: PretrainingRecipe) -> None:
    """A masking and its replacement both do something, or neither does. Raises: ConfigError."""
    masking, replacement = type(recipe.masking).__name__, type(recipe.replacement).__name__
    hides, replaces = hides_tokens(recipe.masking), not isinstance(recipe.replacement, NoReplacement)
    if hides and recipe.masking.ratio == 0:
        raise ConfigError("masking.ratio 0 hides no token, so nothing would be guessed; 0.15 is usual.")
    if hides and not replaces:
        raise ConfigError(
            f"masking {masking} hides tokens and replacement {replacement} leaves all of them visible: nothing would "
            "be guessed. Use replacement=Replacement()."
        )
    if replaces and not hides:
        raise ConfigError(
            f"masking {masking} hides nothing, so replacement {replacement} has nothing to replace; use "
            "replacement=NoReplacement()."
        )
    if recipe.batch.max_targets is not None and not hides:
        raise ConfigError(
            f"batch.max_targets {recipe.batch.max_targets} counts hidden tokens and masking {masking} hides none; "
            "set batch.max_targets=null."
        )


def check_inputs(recipe: PretrainingRecipe, store: TokenStore, checkpoint: Checkpoint | None = None) -> None:
    """Refuse data and weights that do not fit the recipe.

    Raises: DataError, CheckpointError.
    """
    if store.num_tokens == 0:
        raise DataError(f"{store.path} holds no token; prepare a corpus that has text.")
    for role in pack_parts(recipe).roles:
        if role not in store.vocabulary.roles:
            raise DataError(
                f"{store.path} was made with a tokenizer that has no {role_piece(role)}, which the recipe writes. "
                f"Learn the vocabulary with `spanwise learn-tokenizer --roles {role}`; `spanwise pretrain` adds the "
                "piece to any store by itself."
            )
    if hides_tokens(recipe.masking) and "spans" in left_by(recipe.replacement) and store.vocabulary.mask_id < 0:
        raise DataError(
            f"{store.path} was made with a tokenizer that has no [MASK]; masking {type(recipe.masking).__name__} hides "
            "tokens behind it. Learn a tokenizer of another kind than bpe (wordpiece, byte-bpe, unigram), or train "
            "with CausalLM() as gpt1-mini does."
        )
    check_side_arrays(store, side_arrays_of(recipe.masking, recipe.word_unit))
    if checkpoint is None:
        return
    if checkpoint.config.vocab_size != store.vocabulary.size and not _has_spare_rows(checkpoint, store):
        raise CheckpointError(
            f"{checkpoint.folder} has {checkpoint.config.vocab_size:,} vocabulary rows, {store.path} was made with "
            f"{store.vocabulary.size:,} ids. Prepare the text with the tokenizer of the checkpoint."
        )
    check_weights(recipe, checkpoint)


def check_weights(recipe: PretrainingRecipe, checkpoint: Checkpoint, num_ids: int = 0) -> None:
    """Refuse weights that can't go on by this recipe, before any text is prepared. num_ids: of the tokenizer in use.

    Raises: CheckpointError.
    """
    if num_ids > checkpoint.config.vocab_size:
        raise CheckpointError(
            f"{checkpoint.folder} has {checkpoint.config.vocab_size:,} vocabulary rows and the tokenizer {num_ids:,} "
            "ids; they do not belong together. Use the tokenizer of the checkpoint."
        )
    num_types, given_types = getattr(recipe.format, "num_token_types", 1), checkpoint.config.num_token_types
    if num_types > max(1, given_types):
        raise CheckpointError(
            f"{checkpoint.folder} has {given_types} token types and format {type(recipe.format).__name__} writes "
            f"{num_types}; add --set format.num_token_types=1."
        )
    try:
        _check_encoder(recipe, shaped_like(recipe, checkpoint.config).encoder)
    except ConfigError as error:
        raise CheckpointError(f"{checkpoint.folder} does not fit the recipe: {error}") from error
    if recipe.format.max_length > checkpoint.config.max_positions:
        raise CheckpointError(
            f"format.max_length {recipe.format.max_length} is longer than the {checkpoint.config.max_positions} "
            f"positions of {checkpoint.folder}; add --set format.max_length={checkpoint.config.max_positions}, or "
            "--longer-positions tile with --set encoder.max_positions=..., which adds rows."
        )


def _has_spare_rows(checkpoint: Checkpoint, store: TokenStore) -> bool:
    """Return whether the store was made with the checkpoint's own tokenizer, and the table was only made longer than
    that.

    People round the number of rows up to a multiple of 64; without the tokenizer nobody could tell it from a wrong one.
    """
    if checkpoint.tokenizer_folder is None or checkpoint.config.vocab_size < store.vocabulary.size:
        return False
    words = Tokenizer.load(checkpoint.tokenizer_folder)
    return with_roles(words, tuple(store.vocabulary.roles)).sha256 == store.tokenizer_sha256


def build_model(recipe: PretrainingRecipe, vocab_size: int) -> PretrainingModel:
    """Build a model with fresh weights, the same on every machine for one seed."""
    encoder = Encoder(recipe.encoder.for_vocabulary(vocab_size))
    initialize(encoder, encoder.config, recipe.training.seed, prefix="encoder")
    recipe.initial.apply(encoder)
    return _with_heads(recipe, encoder)


def outline_model(recipe: PretrainingRecipe, vocab_size: int) -> PretrainingModel:
    """Build the model in shapes alone, without memory for a weight: to be counted, not run."""
    with outline():
        return _assemble(recipe, Encoder(recipe.encoder.for_vocabulary(vocab_size)))


def shaped_like(recipe: PretrainingRecipe, config: EncoderConfig) -> PretrainingRecipe:
    """Return the recipe as it goes on from given weights: their shape, with its own dropout; none of them starts
    fresh."""
    return replace(recipe, encoder=replace(_trained_shape(recipe, config), vocab_size=0), initial=InitialWeights())


def _trained_shape(recipe: PretrainingRecipe, config: EncoderConfig) -> EncoderConfig:
    """The shape of given weights with the recipe's dropout, and a pooler where an objective of it asks for one."""
    return replace(
        config,
        hidden_dropout=recipe.encoder.hidden_dropout,
        attention_dropout=recipe.encoder.attention_dropout,
        pooler=config.pooler or recipe.encoder.pooler,
    )


def continue_model(
    recipe: PretrainingRecipe, checkpoint: Checkpoint, generator: Checkpoint | None = None
) -> tuple[PretrainingModel, tuple[str, ...]]:
    """Return a model that goes on from a checkpoint, and the names of what had to start fresh: heads, pooler,
    generator.

    The shape is the checkpoint's; dropout rates are the recipe's, and so is a pooler that the checkpoint has not.
    """
    config = _trained_shape(recipe, checkpoint.config)
    fresh = []
    if config.pooler and not checkpoint.config.pooler:
        fresh.append("pooler")
        checkpoint = _with_fresh_pooler(checkpoint, config, recipe.training.seed)
    model = _with_heads(recipe, build_encoder(checkpoint, config))
    for name, head in model.heads.items():
        tensors = checkpoint.heads.get(name)
        if not any(True for _ in head.parameters()):
            continue  # all of it belongs to the encoder
        if tensors is None:
            fresh.append(name)
        else:
            fill(head, tensors, f"the {name} head of {checkpoint.folder}", model.encoder)
    if isinstance(model.corruption, TokenGenerator):
        fresh += ["generator"] if generator is None else fill_generator(model.corruption, generator)
    return model, tuple(fresh)


def _with_fresh_pooler(checkpoint: Checkpoint, config: EncoderConfig, seed: int) -> Checkpoint:
    pooler = Pooler(config.hidden_size)
    initialize(pooler, config, seed, prefix="encoder.pooler")
    fresh = {f"pooler.{name}": tensor.detach() for name, tensor in pooler.named_parameters()}
    return replace(checkpoint, tensors={**checkpoint.tensors, **fresh})


def training_source(recipe: PretrainingRecipe, data: TokenStore | Mixture) -> Source:
    """Return the packs that a run trains on, of one store or several; short sequences first where the recipe says
    so."""
    warmup, batch = recipe.length_warmup, recipe.batch
    usual = usual_source(recipe, data)
    source: Source = usual
    shapes = [usual.collator.parts.shape]
    if warmup.steps:
        short = usual_source(_short(recipe), data)
        source = GrowingSource(short, usual, warmup.steps, recipe.training)
        shapes.append(short.collator.parts.shape)
    if batch.packs == "auto" or batch.packs == batch.packs_per_step:
        return source
    share = share_of(batch.max_tokens, recipe.format.max_length, batch.packs_per_step, batch.packs)
    sizes = [vars(shape.capacities(share)) for shape in shapes if shape is not None]
    capacities = Capacities(**{name: max(size[name] for size in sizes) for name in sizes[0]}) if sizes else None
    return RepackedSource(
        source, partial(usual.collator.batch, capacities=capacities), batch.packs_per_step, batch.packs
    )


def _short(recipe: PretrainingRecipe) -> PretrainingRecipe:
    """Return the recipe of the first steps. Its order and masks are drawn apart, or text of short blocks would come
    twice. Raises: ConfigError for a format whose length can't be set.
    """
    kind = type(recipe.format)
    if not is_dataclass(kind) or "max_length" not in field_names(kind):
        raise ConfigError(
            f"length_warmup.steps {recipe.length_warmup.steps:,} begins with shorter sequences, and format "
            f"{kind.__name__} has no field max_length that could be set. Set length_warmup.steps=0, or make it a field."
        )
    seed = derive_key(recipe.training.seed, "length warm-up")
    return replace(
        recipe,
        format=replace(recipe.format, max_length=recipe.length_warmup.max_length),
        training=replace(recipe.training, seed=seed),
        length_warmup=LengthWarmup(),
    )


@overload
def usual_source(recipe: PretrainingRecipe, data: TokenStore) -> PretrainingSource: ...
@overload
def usual_source(recipe: PretrainingRecipe, data: Mixture) -> PretrainingSource | MixedSource: ...
def usual_source(recipe: PretrainingRecipe, data: TokenStore | Mixture) -> PretrainingSource | MixedSource:
    """Return the packs of `training_source` without a length warm-up."""
    parts, seed, packs_per_step = pack_parts(recipe), recipe.training.seed, recipe.batch.packs_per_step
    if isinstance(data, Mixture):
        if len(data.parts) > 1:
            return MixedSource(data, parts, seed=seed, packs_per_step=packs_per_step)
        data = data.parts[0].store
    return PretrainingSource(data, parts, seed=seed, packs_per_step=packs_per_step)


def validation_source(
    recipe: PretrainingRecipe, store: TokenStore, *, counted: Vocabulary | None = None
) -> PretrainingSource:
    """Return the packs that a run is measured on: those of every epoch are alike, with each block once, in stored
    order and with the same masks. `pretrain` measures on the first of them alone where there are many.

    Every hidden token is shown as [MASK], to the generator too where there is one: its loss is then that of every other
    masked language model, and what the encoder must detect was guessed, never copied. Differs: the released codes
    measure under their training replacement, where the tenth of the tokens that stay visible makes the loss some 0.5
    nats lower than what is really guessed. `counted` as in `Collator`.
    """
    if hides_tokens(recipe.masking):
        own = recipe.replacement
        recipe = replace(recipe, replacement=own.measured() if isinstance(own, ShorteningReplacement) else ALL_MASKED)
    parts = replace(pack_parts(recipe), num_maskings=1, fixed=False)
    seed = recipe.training.seed + VALIDATION_PURPOSE
    return PretrainingSource(store, parts, seed=seed, order="stored", counted=counted)


def pack_parts(recipe: PretrainingRecipe) -> PackParts:
    """The parts of a recipe that every source makes its packs with. Raises: ConfigError as `PackParts`."""
    return PackParts(
        format=recipe.format,
        masking=recipe.masking,
        replacement=recipe.replacement,
        objectives=recipe.objectives,
        corruption=recipe.corruption,
        word_unit=recipe.word_unit,
        num_maskings=recipe.num_maskings,
        max_tokens=recipe.batch.max_tokens,
        max_sequences=recipe.batch.max_sequences,
        max_targets=recipe.batch.max_targets,
        fixed=bool(recipe.batch.fixed),
    )


def _with_heads(recipe: PretrainingRecipe, encoder: Encoder) -> PretrainingModel:
    """Return the encoder with all that is built upon it, which starts fresh."""
    model = _assemble(recipe, encoder)
    corruption = model.corruption
    own = corruption.encoder.config if isinstance(corruption, TokenGenerator) else encoder.config
    for part, config in (("heads", encoder.config), ("corruption", own)):
        initialize(getattr(model, part), config, recipe.training.seed, prefix=part, owner=encoder)
    return model


def _assemble(recipe: PretrainingRecipe, encoder: Encoder) -> PretrainingModel:
    heads: dict[str, nn.Module] = {name: objective.build(encoder) for name, objective in recipe.objectives.items()}
    weights = {name: objective.weight for name, objective in recipe.trained_objectives.items()}
    return PretrainingModel(encoder, heads, weights, recipe.corruption.build(encoder))
