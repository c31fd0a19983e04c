"""No value of a recipe is dead: each one changes what is trained, or says why it must not."""

import hashlib

import numpy as np
import pytest
import torch

from spanwise import recipes
from spanwise.config import override, to_record
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.system import build_model, training_source
from spanwise.text.learn import learn_tokenizer
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import HARMLESS_OPTIONS, count_steps
from spanwise.training.schedule import PlanLine, learning_rate
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

BASE = [
    "encoder.hidden_size=32",
    "encoder.intermediate_size=64",
    "encoder.max_positions=64",
    "format.max_length=64",
    "batch.tokens_per_step=256",
    "batch.max_tokens=128",
    "objectives.sbo.num_positions=2",
    "training.max_tokens=null",
    "training.max_steps=6",
    "training.precision=fp32",
]
LOCAL = ["encoder.local_window=4", "encoder.global_every=2"]
CHANGES = {
    "encoder.hidden_size": ["48"],
    "encoder.num_layers": ["1"],
    "encoder.num_heads": ["4"],
    "encoder.intermediate_size": ["32"],
    "encoder.max_positions": ["80"],
    "encoder.num_token_types": ["1"],
    "encoder.activation": ["gelu_tanh"],
    "encoder.norm_eps": ["0.001"],
    "encoder.hidden_dropout": ["0.3"],
    "encoder.attention_dropout": ["0.3"],
    "encoder.initializer_range": ["0.1"],
    "encoder.pooler": ["true"],
    "encoder.embedding_size": ["16"],
    "encoder.sharing": ["all"],
    "encoder.causal": ["true"],
    "encoder.position_offset": ["2"],
    "encoder.embedding_norm": ["false"],
    "encoder.embedding_dropout": ["0.3"],
    "encoder.norm_place": ["pre"],
    "encoder.rotary_base": ["100.0", "initial.positions=normal"],
    "encoder.local_rotary_base": ["10.0", "encoder.rotary_base=100.0", *LOCAL, "initial.positions=normal"],
    "encoder.local_window": ["4"],
    "encoder.global_every": ["2", "encoder.local_window=4", "encoder.num_layers=3"],
    "encoder.gated": ["true"],
    "encoder.attention_bias": ["false"],
    "encoder.feed_forward_bias": ["false"],
    "encoder.norm_bias": ["false"],
    "encoder.head_bias": ["false"],
    "format.max_length": ["32"],
    "masking.p": ["0.4"],
    "masking.min_words": ["2"],
    "masking.max_words": ["3"],
    "masking.ratio": ["0.3"],
    "masking.start": ["tokens"],
    "masking.end": ["budget"],
    "masking.lengths": ["uniform"],
    "masking.mean_words": ["2.0", "masking.lengths=poisson"],
    "masking.probabilities": ["[0.5, 0.5]", "masking.lengths=explicit", "masking.max_words=2"],
    "replacement.mask": ["0.6", "replacement.random=0.3"],
    "replacement.random": ["0.3", "replacement.mask=0.6"],
    "replacement.keep": ["0.3", "replacement.mask=0.6"],
    "replacement.unit": ["token"],
    "replacement.random_law": ["uniform"],
    "objectives.mlm.weight": ["0.5"],
    "objectives.sbo.weight": ["0.5"],
    "objectives.sbo.num_positions": ["3"],
    "objectives.sbo.position_size": ["20"],
    "objectives.sbo.edges": ["skip"],
    "objectives.sbo.beyond": ["skip"],
    "batch.tokens_per_step": ["512"],
    "batch.max_tokens": ["96"],
    "batch.max_sequences": ["1"],
    "batch.max_targets": ["15"],
    "initial.positions": ["normal"],
    "initial.std": ["0.1"],
    "training.learning_rate": ["0.003"],
    "training.head_learning_rate": ["0.01"],
    "training.layer_decay": ["0.5"],
    "training.warmup_steps": ["3"],
    "training.schedule": ["cosine"],
    "training.optimizer": ["adamw"],
    "training.weight_decay": ["0.5"],
    "training.adam_beta1": ["0.5"],
    "training.adam_beta2": ["0.9"],
    "training.adam_epsilon": ["0.01"],
    "training.max_grad_norm": ["0.01"],
    "training.max_steps": ["9"],
    "training.max_tokens": ["5000", "training.max_steps=null"],
    "training.num_epochs": ["3", "training.max_steps=null"],
    "training.precision": ["bf16"],
    "training.seed": ["1"],
    "word_unit": ["morpheme"],
}
ELSEWHERE = {
    "name",
    "initial.words",  # looked at where a run begins: tests/pretraining/initial/
    "initial.biases",
    "length_warmup.steps",  # tests/pretraining/mixtures/test_length_warmup.py
    "length_warmup.max_length",
    "frozen",  # tests/pretraining/test_run.py
    "num_maskings",  # shows in later epochs alone: tests/pretraining/test_system.py
    "tokenizer.kind",  # learned where no store is given: tests/pretraining/test_run.py
    "tokenizer.vocab_size",
    "encoder.vocab_size",  # the tokenizer's; a recipe that sets it is refused: tests/pretraining/test_system.py
    "tokenizer.cased",
    "tokenizer.unicode_form",
    "tokenizer.boundaries",  # tests/recipes/test_spanbert_ko.py
    "training.budget",  # tests/training/test_loop.py
    "batch.packs",  # no number depends on it but by rounding: tests/pretraining/packing/
    "batch.fixed",  # tests/pretraining/test_model.py
    *(f"training.{option}" for option in HARMLESS_OPTIONS),  # tests/training/test_loop.py: no bit depends on them
}


def recipe_of(assignments=()):
    return override(recipes.spanbert_tiny(), [*BASE, *assignments])


def trained(recipe, store) -> str:
    """A hash of an epoch's batches and of the parameters after four steps, with their names and shapes."""
    model, source = build_model(recipe, store.vocabulary.size), training_source(recipe, store)
    digest = hashlib.sha256()
    for batch in map(source.collator.batch, source.epoch_masked()):
        digest.update(batch.input_ids.numpy().tobytes())
        for target in batch.targets.values():
            digest.update(target.rows.numpy().tobytes())
    options, device = recipe.training, torch.device("cpu")
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, options),
        device=device,
        precision=options.precision,
        seed=options.seed,
        max_grad_norm=options.max_grad_norm,
        timer=SectionTimer(device),
    )
    plan = [PlanLine(step=0, total_steps=count_steps(options, source), reason="test")]
    for step in range(1, 5):
        rate = learning_rate(
            step, plan, peak=options.learning_rate, warmup=options.warmup_steps, shape=options.schedule
        )
        updater.update(step, source.step(step - 1), rate)
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)}".encode())
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


class EveryPiece:
    """Tags each piece as a morpheme of its own."""

    name = "morphemes"
    source = "a test"

    def tag(self, texts, encodings):
        return [np.ones(len(encoding.ids), dtype=np.uint8) for encoding in encodings]


@pytest.fixture(scope="module")
def store(tiny_text, tmp_path_factory):
    """The tiny text with so small a vocabulary that most words have several pieces."""
    folder = tmp_path_factory.mktemp("pieces") / "store"
    prepare(tiny_text, learn_tokenizer(tiny_text, vocab_size=90), folder, taggers=[EveryPiece()])
    return TokenStore.open(folder)


@pytest.fixture(scope="module")
def untouched(store):
    assert trained(recipe_of(), store) == trained(recipe_of(), store)
    return trained(recipe_of(), store)


@pytest.mark.parametrize("path", CHANGES)
def test_a_changed_value_trains_another_model(path, store, untouched):
    value, *others = CHANGES[path]
    assert trained(recipe_of([*others, f"{path}={value}"]), store) != untouched


def paths_of(record, front=""):
    for key, value in record.items():
        if isinstance(value, dict):
            yield from paths_of(value, f"{front}{key}.")
        elif key not in ("part", "differences"):
            yield f"{front}{key}"


def test_every_value_there_is_is_looked_at():
    assert set(paths_of(to_record(recipe_of()))) == set(CHANGES) | ELSEWHERE
