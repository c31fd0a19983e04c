"""ModernBERT's folders against transformers: long texts, wide weights, both generations of config.json, training."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from tests.interop.oracle import load_theirs, open_ours, our_scores
from tests.nn.toy import MODERN, toy_config, toy_encoder

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.model_config import encoder_config
from spanwise.interop.tables import modernbert
from spanwise.nn.sequences import Sequences

SIZES = dict(vocab_size=99, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48)
TOKENS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=None, sep_token_id=None)
BIASES = {key: True for key in modernbert.BIASES.values()}
VARIANTS = {
    "as published": {},
    "with all biases": BIASES,
    "silu and every second layer global": {"hidden_activation": "silu", "global_attn_every_n_layers": 2},
    "one base, narrow window": {"global_rope_theta": 500.0, "local_rope_theta": 500.0, "local_attention": 10},
    "all layers global": {"global_attn_every_n_layers": 1},
}
LENGTHS = (2048, 3, 400, 65, 66, 129, 1)  # far beyond the window of 64 to each side, at its edges, and within
CLASSES = [name for name in modernbert.MODERNBERT.architectures if name != "ModernBertModel"]


def wide_model(name="ModernBertModel", **changes):
    """A model whose parameters are all drawn: no gain is near 1 and no bias near 0."""
    torch.manual_seed(0)
    config = transformers.ModernBertConfig(**(SIZES | TOKENS | {"max_position_embeddings": 2048} | changes))
    model = getattr(transformers, name)._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            is_gain = "norm.weight" in parameter_name
            parameter.copy_(torch.randn(parameter.shape) * (0.4 if is_gain else 0.2) + float(is_gain))
    return model


def texts(lengths, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, 99, (length,), generator=generator) for length in lengths]


def padded(rows):
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_hidden_states_equal_one_by_one_and_padded_up_to_2048_tokens(tmp_path, changes):
    theirs = wide_model(**changes)
    theirs.save_pretrained(tmp_path)
    encoder = build_encoder(read_folder(tmp_path)).eval()
    rows = texts(LENGTHS)
    ids = torch.cat(rows)
    with torch.no_grad():
        ours = encoder(ids, torch.zeros_like(ids), Sequences.from_lengths(LENGTHS)).split(LENGTHS)
        batch = theirs(**padded(rows[2:])).last_hidden_state
        for row, found in zip(rows, ours, strict=True):
            assert (theirs(row[None]).last_hidden_state[0] - found).abs().max() < 1e-5
        for states, found in zip(batch, ours[2:], strict=True):
            assert (states[: len(found)] - found).abs().max() < 1e-5


@pytest.mark.parametrize(
    "changes",
    [{}, BIASES, {"classifier_pooling": "mean"}, {"hidden_activation": "silu"}, {"hidden_activation": "gelu_new"}],
    ids=["usual", "biases", "mean", "silu", "tanh"],
)
@pytest.mark.parametrize("name", CLASSES)
def test_scores_of_every_head_equal_and_are_written_as_the_same_class(tmp_path, name, changes):
    changes = changes | ({"num_labels": 3} if "Classification" in name else {})
    wide_model(name, **changes).save_pretrained(tmp_path / "theirs")
    checkpoint, encoder, heads = open_ours(tmp_path / "theirs")
    assert not checkpoint.report.missing and not checkpoint.report.unexpected
    written = write_folder(tmp_path / "ours", FolderContent(encoder, heads, model_type="modernbert"))
    assert written.architecture == name and written.beside == ()
    lengths = (300, 5, 130)
    rows = texts(lengths)
    named = padded(rows)
    if "MultipleChoice" in name:
        named = {key: value[:, None] for key, value in named.items()}
    batch = SimpleNamespace(ids=padded(rows)["input_ids"], mask=padded(rows)["attention_mask"])
    batch.types = torch.zeros_like(batch.ids)
    (found,) = our_scores(encoder, heads, batch).values()
    for folder in ("theirs", "ours"):
        with torch.no_grad():
            out = load_theirs(tmp_path / folder)(**named)
        logits = torch.stack((out.start_logits, out.end_logits), -1) if "Question" in name else out.logits
        if logits.ndim == 3:
            logits = torch.cat([row[:length] for row, length in zip(logits, lengths, strict=True)])
        torch.testing.assert_close(found, logits, atol=1e-5, rtol=1e-5)


def test_gradients_of_every_parameter_equal(tmp_path):
    theirs = wide_model(**BIASES)
    theirs.save_pretrained(tmp_path)
    checkpoint = read_folder(tmp_path)
    encoder = build_encoder(checkpoint).train()
    (row,) = texts([300])
    weights = torch.randn(300, 32, generator=torch.Generator().manual_seed(5))
    (encoder(row, torch.zeros_like(row), Sequences.from_lengths([300])) * weights).sum().backward()
    (theirs(row[None]).last_hidden_state[0] * weights).sum().backward()
    lines = modernbert.MODERNBERT.key_map(checkpoint.config, {})
    ours = {name: parameter.grad for name, parameter in encoder.named_parameters()}
    ours["embeddings.word.weight"] = ours["embeddings.word.weight"][:99]
    found = lines.without_root(lines.encoder_to_theirs(ours))
    expected = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    expected["embeddings.tok_embeddings.weight"][0] = 0.0
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=2e-3, rtol=1e-3, msg=name)


@pytest.mark.slow
def test_two_hundred_steps_of_fine_tuning_follow_the_losses_of_transformers(tmp_path):
    theirs = transformers.ModernBertForSequenceClassification._from_config(
        transformers.ModernBertConfig(**SIZES, **TOKENS, local_attention=8, num_labels=3)
    ).train()
    theirs.save_pretrained(tmp_path)
    _, encoder, heads = open_ours(tmp_path)
    head = heads["classification"].train()
    parameters = [*encoder.train().parameters(), *head.parameters()]
    mine, other = (torch.optim.AdamW(group, lr=1e-3) for group in (parameters, theirs.parameters()))
    draw = np.random.default_rng(0)
    losses = []
    for step in range(200):
        lengths = [int(n) for n in draw.integers(2, 30, 4)]
        rows, labels = texts(lengths, seed=step), torch.from_numpy(draw.integers(0, 3, 4))
        for row, label in zip(rows, labels, strict=True):
            row[len(row) // 2] = 3 + label  # what decides
        ids, sequences = torch.cat(rows), Sequences.from_lengths(lengths)
        ours = torch.nn.functional.cross_entropy(
            head(encoder(ids, torch.zeros_like(ids), sequences), sequences), labels
        )
        expected = theirs(**padded(rows), labels=labels).loss
        for loss, optimizer in ((ours, mine), (expected, other)):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append((float(ours.detach()), float(expected.detach())))
    ours, expected = np.array(losses).T
    assert np.abs(ours - expected).max() < 1e-4
    assert expected[-20:].mean() < 0.75 * expected[:20].mean()  # both have learned


OLD = {"global_attn_every_n_layers": 2, "global_rope_theta": 500.0, "local_rope_theta": 50.0}
NEW = {
    "layer_types": ["full_attention", "sliding_attention"] * 2,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 500.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
    },
}


@pytest.mark.parametrize("generation", [OLD, NEW, OLD | NEW])
def test_both_generations_of_keys_are_read_and_say_what_transformers_reads(tmp_path, generation):
    config = read(tmp_path, generation | {"local_attention": 20})
    assert (config.rotary_base, config.local_rotary_base, config.local_window) == (500.0, 50.0, 10)
    assert [config.is_local(layer) for layer in range(4)] == [False, True, False, True]
    theirs = transformers.ModernBertConfig(**SIZES, **generation)
    assert theirs.layer_types == NEW["layer_types"]
    assert theirs.rope_parameters["sliding_attention"]["rope_theta"] == 50.0


def test_a_window_that_is_said_to_each_side_counts_as_in_transformers(tmp_path):
    wide_model().save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"sliding_window": 3}))
    ids = texts((40,))[0]
    with torch.no_grad():
        theirs = transformers.AutoModel.from_pretrained(tmp_path)(input_ids=ids[None]).last_hidden_state
        torch.testing.assert_close(spanwise.load(tmp_path)(ids[None]), theirs, atol=1e-4, rtol=0)


def read(folder, changes):
    return encoder_config({"model_type": "modernbert", **SIZES, **changes}, folder / "config.json")


def test_where_nothing_is_said_it_is_what_transformers_takes(tmp_path):
    config, theirs = read(tmp_path, {}), transformers.ModernBertConfig(**SIZES)
    assert config.rotary_base == theirs.rope_parameters["full_attention"]["rope_theta"]
    assert config.local_rotary_base == theirs.rope_parameters["sliding_attention"]["rope_theta"]
    assert config.local_window == theirs.sliding_window and config.max_positions == theirs.max_position_embeddings
    kinds = ["sliding_attention" if config.is_local(layer) else "full_attention" for layer in range(4)]
    assert kinds == theirs.layer_types
    assert (config.attention_bias, config.norm_bias, config.head_bias) == (False, False, False)
    assert read(tmp_path, {"global_rope_theta": 7.0, "local_rope_theta": None}).local_rotary_base is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"layer_types": ["sliding_attention"] * 4}, "one 'full_attention' at the beginning"),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_type = 'yarn'"),
        ({"rope_parameters": {"full_attention": {"type": "linear", "factor": 4.0}}}, "rope_type = 'linear'"),
        ({"rope_scaling": {"factor": 2}}, "rope_scaling"),
        ({"mlp_bias": 1}, "mlp_bias = 1"),
        ({"global_attn_every_n_layers": 0}, "global_attn_every_n_layers = 0"),
        ({"global_rope_theta": "big"}, "global_rope_theta = 'big'"),
        ({"decoder_bias": False}, "decoder_bias"),
        ({"classifier_activation": "silu"}, "classifier_activation"),
        ({"hidden_activation": "relu"}, "hidden_activation 'relu'"),
    ],
)
def test_settings_that_nothing_here_computes_are_refused_with_their_names(tmp_path, changes, named):
    with pytest.raises(CheckpointError, match=named):
        read(tmp_path, changes)


def test_folders_of_ours_say_both_generations_and_load_with_the_same_states(tmp_path):
    encoder = toy_encoder(**MODERN)
    assert write_folder(tmp_path, FolderContent(encoder, {})).architecture == "ModernBertModel"
    settings = json.loads((tmp_path / "config.json").read_text())
    assert settings["layer_types"] == ["full_attention", "sliding_attention", "full_attention"]
    assert (settings["global_attn_every_n_layers"], settings["local_attention"]) == (2, 8)
    assert read_folder(tmp_path).config == encoder.config
    (row,) = texts([40])
    with torch.no_grad():
        ours = encoder(row, torch.zeros_like(row), Sequences.from_lengths([40]))
        theirs = transformers.AutoModel.from_pretrained(tmp_path)(row[None]).last_hidden_state[0]
    assert (ours - theirs).abs().max() < 1e-5


@pytest.mark.parametrize(
    "changes",
    [
        {"sharing": "all"}, {"causal": True}, {"embedding_size": 16}, {"num_token_types": 2}, {"gated": False},
        {"norm_place": "post"}, {"embedding_norm": False}, {"rotary_base": None, "local_rotary_base": None},
    ],
)  # fmt: skip
def test_an_encoder_that_modernbert_does_not_compute_is_written_under_our_own_name_and_read_again(tmp_path, changes):
    encoder = toy_encoder(**(MODERN | changes))
    written = write_folder(tmp_path, FolderContent(encoder, {}))
    assert written.model_type == "spanwise" and "ModernBERT has no" in written.notes[0]
    again = build_encoder(read_folder(tmp_path)).eval()
    assert again.config == encoder.config
    (row,) = texts([40])
    states = [one(row, torch.zeros_like(row), Sequences.from_lengths([40])) for one in (encoder, again)]
    assert torch.equal(*states)


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    from tests.interop.oracle import ORACLES

    ORACLES["modernbert"].assert_lines_are_the_parameters(modernbert.MODERNBERT, name, toy_config(**MODERN))
