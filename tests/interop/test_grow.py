"""More rows: the old ones stay bit for bit, the new ones start where it was said."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.interop.oracle import ORACLES, load_theirs, make_batch, their_scores
from tests.nn.toy import MODERN, toy_encoder

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.grow import grow_positions, grow_vocabulary
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.sequences import Sequences

PIECES = [np.array([5, 7]), np.array([8]), np.array([1, 9]), np.array([1])]  # 1 is [UNK]
WORDS, POSITIONS = "embeddings.word.weight", "embeddings.position.weight"


def test_old_rows_stay_bit_for_bit_in_tables_and_heads(folder):
    before = read_folder(folder)
    after = grow_vocabulary(before, PIECES, unk_id=1)

    size = before.config.vocab_size
    assert after.config.vocab_size == size + 4
    assert torch.equal(after.tensors[WORDS][:size], before.tensors[WORDS])
    assert {
        name for name in after.tensors if not torch.equal(after.tensors[name][:size], before.tensors[name])
    } == set()
    for name, tensors in before.heads.items():
        for part, tensor in tensors.items():
            assert torch.equal(after.heads[name][part][: len(tensor)], tensor), (name, part)
    assert before.tensors[WORDS].shape[0] == size  # the given checkpoint is as it was


def test_new_rows_are_the_means_of_known_pieces(folder):
    before = read_folder(folder)
    after = grow_vocabulary(before, PIECES, unk_id=1)
    size, table = before.config.vocab_size, before.tensors[WORDS]

    new = after.tensors[WORDS][size:]
    assert torch.equal(new[0], (table[5] + table[7]) / 2)
    assert torch.equal(new[1], table[8]) and torch.equal(new[2], table[9])
    assert not torch.equal(new[3], table[1])  # nothing but [UNK] is known of it: it starts afresh
    for name in ("mlm", "sbo"):
        old, bias = before.heads[name]["bias"], after.heads[name]["bias"]
        assert bias.shape == (size + 4,)
        assert bias[size + 1] == old[8] and bias[size + 3] == 0.0


def test_random_rows_have_the_initial_spread_and_depend_on_the_seed_alone(folder):
    before = read_folder(folder)
    many = [np.array([8])] * 500
    first, again, other = (grow_vocabulary(before, many, rows="random", seed=seed) for seed in (1, 1, 2))

    size = before.config.vocab_size
    new = first.tensors[WORDS][size:]
    assert torch.equal(new, again.tensors[WORDS][size:]) and not torch.equal(new, other.tensors[WORDS][size:])
    assert new.std().item() == pytest.approx(before.config.initializer_range, rel=0.05)
    assert first.heads["mlm"]["bias"][size:].abs().sum() == 0


def test_a_pair_classifier_of_two_rows_does_not_grow(tmp_path, encoder):
    from tests.interop.conftest import make_heads

    write_folder(tmp_path / "m", FolderContent(encoder, make_heads(encoder, "mlm", "nsp", "qa")))
    after = grow_vocabulary(read_folder(tmp_path / "m"), PIECES)
    assert after.heads["nsp"]["bias"].shape == (2,) and after.heads["qa"]["linear.bias"].shape == (2,)


def test_a_grown_checkpoint_builds_and_is_written_with_all_its_rows(tmp_path, folder):
    from transformers import AutoModelForMaskedLM

    after = grow_positions(grow_vocabulary(read_folder(folder), PIECES), 100)
    encoder = build_encoder(after)
    heads = {name: build_head(after, name, encoder) for name in ("mlm", "sbo")}
    write_folder(tmp_path / "grown", FolderContent(encoder, heads))

    theirs, report = AutoModelForMaskedLM.from_pretrained(tmp_path / "grown", output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert theirs.config.vocab_size == after.config.vocab_size and theirs.config.max_position_embeddings == 100
    assert torch.equal(theirs.get_input_embeddings().weight, after.tensors[WORDS])
    assert torch.equal(read_folder(tmp_path / "grown").heads["sbo"]["bias"], after.heads["sbo"]["bias"])


LANGUAGE_MODELS = {
    "bert": "BertForMaskedLM",
    "roberta": "RobertaForMaskedLM",
    "albert": "AlbertForMaskedLM",
    "electra": "ElectraForMaskedLM",
    "openai_gpt": "OpenAIGPTLMHeadModel",
}


@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_every_family_grows_and_its_class_scores_old_tokens_as_before(family, tmp_path):
    """A new token's score is the mean of its pieces' scores; longer positions change nothing of short inputs."""
    oracle = ORACLES[family]
    before = oracle.model(LANGUAGE_MODELS[family])
    before.save_pretrained(tmp_path / "before")
    after = grow_positions(grow_vocabulary(read_folder(tmp_path / "before"), PIECES[:2]), 60)
    encoder = build_encoder(after)
    heads = {name: build_head(after, name, encoder) for name in after.heads}
    pad = SimpleNamespace(pad_id=oracle.pad_id, save=lambda folder: None)
    write_folder(tmp_path / "after", FolderContent(encoder, heads, pad, model_type=after.model_type))

    batch = make_batch(oracle)
    (old,) = their_scores(before, oracle, batch).values()
    (new,) = their_scores(load_theirs(tmp_path / "after").eval(), oracle, batch).values()

    assert new.shape == (len(old), 101)
    assert (new[:, :99] - old).abs().max() < 1e-5
    assert (new[:, 99] - old[:, [5, 7]].mean(1)).abs().max() < 1e-5
    assert (new[:, 100] - old[:, 8]).abs().max() < 1e-5


def test_pieces_that_have_no_row_are_refused(folder):
    with pytest.raises(CheckpointError, match="ids beyond them"):
        grow_vocabulary(read_folder(folder), [np.array([99_999])])


def test_longer_positions_repeat_the_old_ones(folder):
    before = read_folder(folder)
    old = before.config.max_positions
    after = grow_positions(before, 2 * old + 3)

    table = after.tensors[POSITIONS]
    assert torch.equal(table[:old], before.tensors[POSITIONS])
    assert torch.equal(table[old : 2 * old], before.tensors[POSITIONS])
    assert torch.equal(table[2 * old :], before.tensors[POSITIONS][:3])
    assert after.config.max_positions == 2 * old + 3


def test_rows_that_are_never_looked_up_are_not_repeated(folder):
    """RoBERTa's table has two rows before the first position."""
    from dataclasses import replace

    before = read_folder(folder)
    old = before.config.max_positions - 2
    shifted = replace(before, config=replace(before.config, max_positions=old, position_offset=2))
    table = grow_positions(shifted, old + 2).tensors[POSITIONS]
    assert table.shape[0] == old + 4
    assert torch.equal(table[-2:], before.tensors[POSITIONS][2:4])


def test_random_positions_differ_from_old_ones_and_fewer_positions_are_refused(folder):
    before = read_folder(folder)
    old = before.config.max_positions
    after = grow_positions(before, old + 5, rows="random")
    assert torch.equal(after.tensors[POSITIONS][:old], before.tensors[POSITIONS])
    assert not any(
        torch.equal(row, other) for row in after.tensors[POSITIONS][old:] for other in before.tensors[POSITIONS]
    )
    for fewer in (old, old - 1):
        with pytest.raises(ConfigError, match=f"{fewer} is not longer than the {old} positions"):
            grow_positions(before, fewer)


def test_rotary_positions_become_more_without_a_row(tmp_path):
    encoder = toy_encoder(**MODERN)
    write_folder(tmp_path, FolderContent(encoder, {}))
    grown = grow_positions(read_folder(tmp_path), 80)
    ids = torch.arange(60)
    with torch.no_grad():
        found = build_encoder(grown).eval()(ids, ids * 0, Sequences.from_lengths([60]))
    assert grown.config.max_positions == 80 and found.isfinite().all()
    assert grown.tensors.keys() == read_folder(tmp_path).tensors.keys()
