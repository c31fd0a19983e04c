from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch

from spanwise import recipes
from spanwise.config import override
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.formats import SegmentPair, SentencePair, SplitSegments
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.objectives import CausalLM, MaskedLM, NextSentence, ReplacedToken
from spanwise.pretraining.system import (
    build_model,
    check,
    check_inputs,
    continue_model,
    shaped_like,
    training_source,
    validation_source,
)


def small(recipe=None):
    recipe = recipe or recipes.spanbert_tiny()
    return replace(
        recipe,
        encoder=replace(recipe.encoder, hidden_size=32, num_heads=2, intermediate_size=64, max_positions=64),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
    )


@dataclass(frozen=True, kw_only=True)
class AsksForPairs:
    name: ClassVar[str] = "pairs"
    needs: ClassVar[frozenset[str]] = frozenset({"pair_label"})
    weight: float = 1.0
    targets = build = None  # never asked for


def test_a_senseless_cross_is_refused_by_naming_both_parts():
    with pytest.raises(ConfigError, match=r"'pairs' asks for 'pair_label'.*SingleSegment"):
        check(replace(small(), objectives={"pairs": AsksForPairs()}))


def test_names_lengths_and_packs_that_disagree_are_refused():
    with pytest.raises(ConfigError, match="use that name"):
        check(replace(small(), objectives={"masked": MaskedLM()}))
    with pytest.raises(ConfigError, match="max_positions"):
        check(replace(small(), format=replace(small().format, max_length=65)))
    with pytest.raises(ConfigError, match="max_tokens"):
        check(replace(small(), batch=replace(small().batch, max_tokens=63)))


def test_objectives_that_encoder_or_masking_cannot_serve_are_refused_before_any_file_is_opened():
    reads_all = dict(masking=NoMasking(), replacement=NoReplacement())
    causal = replace(small().encoder, causal=True)
    clm = {"clm": CausalLM()}

    check(replace(small(), encoder=causal, objectives=clm, **reads_all))
    with pytest.raises(ConfigError, match=r"'clm'.*causal=false"):
        check(replace(small(), objectives=clm, **reads_all))
    with pytest.raises(ConfigError, match=r"'mlm'.*causal=true"):
        check(replace(small(), encoder=causal))
    with pytest.raises(ConfigError, match=r"'clm'.*GeometricSpans"):
        check(replace(small(), encoder=causal, objectives=clm))
    with pytest.raises(ConfigError, match=r"'mlm'.*NoMasking"):
        check(replace(small(), **reads_all))


def test_pairs_and_their_labels_are_asked_of_format_encoder_and_pooler():
    pooled = replace(small().encoder, pooler=True)
    nsp = dict(format=SentencePair(max_length=64), objectives={"nsp": NextSentence()})

    check(replace(small(), encoder=pooled, **nsp))
    with pytest.raises(ConfigError, match=r"'nsp'.*encoder\.pooler=true"):
        check(replace(small(), **nsp))
    with pytest.raises(ConfigError, match=r"'nsp'.*SingleSegment.*SentencePair"):
        check(replace(small(), encoder=pooled, objectives=nsp["objectives"]))
    with pytest.raises(ConfigError, match=r"'nsp'.*causal=true"):
        check(replace(small(), encoder=replace(pooled, causal=True), **nsp))


def test_an_encoder_with_fewer_token_types_than_the_format_is_refused():
    one = replace(small().encoder, num_token_types=1)
    check(replace(small(), encoder=one, format=SegmentPair(max_length=64)))
    with pytest.raises(ConfigError, match=r"format\.num_token_types 2.*encoder\.num_token_types 1"):
        check(replace(small(), encoder=one, format=SplitSegments(max_length=64)))


def test_hiding_behind_a_mask_that_the_tokenizer_lacks_is_refused(tiny_store):
    without = copy(tiny_store)
    without.vocabulary = replace(tiny_store.vocabulary, mask_id=-1)

    with pytest.raises(DataError, match=r"no \[MASK\]; masking GeometricSpans"):
        check_inputs(small(), without)
    reads_all = dict(masking=NoMasking(), replacement=NoReplacement(), objectives={"clm": CausalLM()})
    check_inputs(replace(small(), encoder=replace(small().encoder, causal=True), **reads_all), without)


def test_a_pooler_that_a_checkpoint_lacks_starts_fresh_and_is_named(tiny_store, tmp_path):
    bare = build_model(small(), tiny_store.vocabulary.size)
    write_folder(tmp_path / "m", FolderContent(bare.encoder, {"mlm": bare.heads["mlm"]}, tiny_store.tokenizer()))
    checkpoint = read_folder(tmp_path / "m")
    wanted = replace(
        small(),
        encoder=replace(small().encoder, pooler=True),
        format=SentencePair(max_length=64),
        objectives={"mlm": MaskedLM(), "nsp": NextSentence()},
    )
    recipe = shaped_like(wanted, checkpoint.config)
    check(recipe)

    model, fresh = continue_model(recipe, checkpoint)

    assert fresh == ("pooler", "nsp") and recipe.encoder.pooler
    expected = build_model(wanted, tiny_store.vocabulary.size).encoder.pooler
    assert torch.equal(model.encoder.pooler.dense.weight, expected.dense.weight)
    assert torch.equal(model.encoder.embeddings.position.weight, bare.encoder.embeddings.position.weight)


def test_a_checkpoint_whose_encoder_cannot_serve_the_recipe_is_refused(tiny_store, tmp_path):
    one_type = replace(small(), encoder=replace(small().encoder, num_token_types=1))
    model = build_model(one_type, tiny_store.vocabulary.size)
    write_folder(tmp_path / "m", FolderContent(model.encoder, {}, tiny_store.tokenizer()))
    checkpoint = read_folder(tmp_path / "m")

    check_inputs(small(), tiny_store, checkpoint)
    with pytest.raises(CheckpointError, match=r"1 token types.*add --set format\.num_token_types=1"):
        check_inputs(replace(small(), format=SplitSegments(max_length=64)), tiny_store, checkpoint)


def test_masked_language_modelling_is_refused_on_the_weights_of_a_causal_encoder(tiny_store, tmp_path):
    """GPT-1's folder, whatever the recipe's own encoder would be."""
    gpt = replace(small().encoder, causal=True, embedding_norm=False, num_token_types=0, activation="gelu_tanh")
    model = build_model(replace(small(), encoder=gpt), tiny_store.vocabulary.size)
    write_folder(tmp_path / "gpt", FolderContent(model.encoder, {}, tiny_store.tokenizer()))

    with pytest.raises(CheckpointError, match=r"gpt does not fit the recipe: objective 'mlm'.*causal=true"):
        check_inputs(small(), tiny_store, read_folder(tmp_path / "gpt"))


def test_a_masking_and_a_replacement_that_undo_each_other_are_refused():
    clm = replace(small(), encoder=replace(small().encoder, causal=True), objectives={"clm": CausalLM()})
    with pytest.raises(ConfigError, match="GeometricSpans hides tokens and replacement NoReplacement"):
        check(replace(small(), replacement=NoReplacement()))
    with pytest.raises(ConfigError, match="NoMasking hides nothing, so replacement Replacement"):
        check(replace(clm, masking=NoMasking()))
    with pytest.raises(ConfigError, match=r"masking\.ratio 0 hides no token"):
        check(replace(small(), masking=replace(small().masking, ratio=0.0)))
    limited = replace(clm.batch, max_targets=100)
    with pytest.raises(ConfigError, match=r"batch\.max_targets 100.*NoMasking"):
        check(replace(clm, masking=NoMasking(), replacement=NoReplacement(), batch=limited))


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, again = build_model(small(), 100), build_model(small(), 100)
    for ours, theirs in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    recipe = small()
    other = build_model(replace(recipe, training=replace(recipe.training, seed=1)), 100)
    assert not torch.equal(first.encoder.word_embedding, other.encoder.word_embedding)


def test_training_masks_change_with_the_epoch_and_validation_masks_never(tiny_store):
    training, validation = training_source(small(), tiny_store), validation_source(small(), tiny_store)
    constant = [batch.input_ids for batch in validation.step(0)]
    packs = validation.num_packs(0)
    assert all(torch.equal(a, b.input_ids) for a, b in zip(constant, validation.step(packs), strict=True))
    blocks = {batch.ids for index in range(8) for batch in training.step(index)}
    assert len(blocks) == 8 * small().batch.packs_per_step


def masks_of_epochs(recipe, store, num_epochs):
    """What is hidden in each block, an epoch each, whatever the order of blocks."""
    source = training_source(recipe, store)
    return [
        {
            number: tuple(one.input_ids[one.pack.borders[s] : one.pack.borders[s + 1]].tolist())
            for one in source.epoch_masked(epoch)
            for s, number in enumerate(one.pack.block_ids.tolist())
        }
        for epoch in range(num_epochs)
    ]


def test_static_masks_come_again_after_k_epochs_and_dynamic_ones_never(tiny_store):
    """BERT's ten copies against RoBERTa's new masks at each presentation."""
    static = masks_of_epochs(replace(small(), num_maskings=2), tiny_store, 5)
    dynamic = masks_of_epochs(small(), tiny_store, 5)

    assert static[0] == static[2] == static[4] and static[1] == static[3]
    assert static[0] == dynamic[0] and static[1] == dynamic[1]  # the k maskings are the first k dynamic ones
    for later in range(1, 5):
        changed = [dynamic[0][block] != dynamic[later][block] for block in dynamic[0]]
        assert sum(changed) > 0.9 * len(changed)


def test_static_masks_still_meet_in_other_packs(tiny_store):
    source = training_source(replace(small(), num_maskings=1), tiny_store)
    packs = [{tuple(one.pack.block_ids.tolist()) for one in source.epoch_masked(epoch)} for epoch in (0, 1)]
    assert len(packs[0] & packs[1]) <= 0.2 * len(packs[0])


def test_validation_of_a_static_recipe_has_one_masking(tiny_store):
    validation = validation_source(replace(small(), num_maskings=7), tiny_store)
    packs = validation.num_packs(0)
    assert torch.equal(validation.step(0)[0].input_ids, validation.step(packs)[0].input_ids)


def test_going_on_fills_known_heads_and_names_fresh_ones(tiny_store, tmp_path):
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    write_folder(tmp_path / "m", FolderContent(model.encoder, {"mlm": model.heads["mlm"]}, tiny_store.tokenizer()))
    checkpoint = read_folder(tmp_path / "m")
    check_inputs(recipe, tiny_store, checkpoint)
    seeded = replace(recipe, training=replace(recipe.training, seed=9))
    again, fresh = continue_model(seeded, checkpoint)
    assert fresh == ("sbo",)
    real = slice(tiny_store.vocabulary.size)  # padded rows have no meaning and are not in files
    assert torch.equal(again.encoder.word_embedding[real], model.encoder.word_embedding[real])
    assert torch.equal(again.heads["mlm"].dense.weight, model.heads["mlm"].dense.weight)


def test_rows_beyond_the_tokenizers_are_taken_where_the_tokenizer_is_the_checkpoints_own(tiny_store, tmp_path):
    recipe, size = small(), tiny_store.vocabulary.size
    model = build_model(recipe, size + 37)  # as people round up to a multiple of 64
    write_folder(tmp_path / "m", FolderContent(model.encoder, dict(model.heads.items()), tiny_store.tokenizer()))
    checkpoint = read_folder(tmp_path / "m")

    check_inputs(recipe, tiny_store, checkpoint)
    again, fresh = continue_model(recipe, checkpoint)
    batch = training_source(recipe, tiny_store).step(0)[0]
    losses = again.eval()(batch)

    assert fresh == () and all(torch.isfinite(loss.sum) for loss in losses.values())
    with pytest.raises(CheckpointError, match="vocabulary rows"):  # nobody can tell that it is the right tokenizer
        check_inputs(recipe, tiny_store, replace(checkpoint, tokenizer_folder=None))


def test_weights_of_another_vocabulary_are_refused(tiny_store, tmp_path):
    model = build_model(small(), 100)
    write_folder(tmp_path / "m", FolderContent(model.encoder, {}))
    with pytest.raises(CheckpointError, match="100 vocabulary rows"):
        check_inputs(small(), tiny_store, read_folder(tmp_path / "m"))


def test_a_recipe_does_not_say_how_many_ids_there_are():
    with pytest.raises(ConfigError, match=r"encoder.vocab_size 300 is set, .* set tokenizer.vocab_size instead"):
        check(override(recipes.spanbert_tiny(), ["encoder.vocab_size=300"]))


def test_a_frozen_encoder_is_refused_where_a_generator_learns_its_embeddings():
    recipe = replace(recipes.electra_small(), frozen="encoder")
    with pytest.raises(ConfigError, match="frozen 'encoder' keeps the embeddings still, which Generator"):
        check(recipe)


def test_a_pre_norm_generator_begins_by_its_own_depth():
    """The products that are summed up in its residual start smaller by the number of its own layers."""
    recipe = small()
    recipe = replace(
        recipe,
        encoder=replace(recipe.encoder, norm_place="pre", num_layers=4),
        objectives={"rtd": ReplacedToken()},
        corruption=Generator(layers=0.5, size=1.0),
    )
    model = build_model(recipe, 100)
    own = model.corruption.encoder
    assert len(own.layers) == 2
    std = own.layers[0].attention.output.weight.std().item()
    assert std == pytest.approx(own.config.initializer_range * 4**-0.5, rel=0.1)


def test_a_warm_up_is_refused_for_a_format_whose_length_is_no_field():
    @dataclass(frozen=True)
    class Fixed:
        gives: ClassVar[frozenset[str]] = frozenset()
        max_length: ClassVar[int] = 64
        changes_with_epoch = blocks = assemble = None  # never asked for

    recipe = replace(small(), format=Fixed(), length_warmup=LengthWarmup(steps=3, max_length=32))
    with pytest.raises(ConfigError, match=r"length_warmup\.steps 3 .* format Fixed has no field max_length"):
        check(recipe)
