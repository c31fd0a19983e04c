"""Going on from given weights with more tokens and longer positions: told, recorded, saved and resumed bit for bit."""

import json
from dataclasses import replace

import pytest
import torch

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.grow import with_rows_for
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.pretraining.initial.growth import Growth, asked_growth, grown
from spanwise.pretraining.masking import QuestionTokens, RecurringSpans, Replacement
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model, check_inputs
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog
from spanwise.text.extend import extend_tokenizer, with_roles, with_special_pieces
from spanwise.text.tokenizers import Tokenizer

NEW = ["riverside", "market square", "##bridge"]
WORDS, POSITIONS = "embeddings.word.weight", "embeddings.position.weight"
LONGER = ["encoder.max_positions=96", "format.max_length=96"]


def tiny_recipe(**training):
    recipe = spanbert_tiny()
    values = {"max_tokens": None, "max_steps": 6, "eval_every": 3, "save_every": 2, "log_every": 1, "threads": 1}
    return replace(
        recipe,
        tokenizer=replace(recipe.tokenizer, vocab_size=300),
        encoder=replace(recipe.encoder, hidden_size=32, num_heads=2, intermediate_size=64, max_positions=64),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
        training=replace(recipe.training, **{**values, **training}),
    )


@pytest.fixture(scope="module")
def first(tiny_store, tmp_path_factory):
    """A folder to go on from: fresh weights of both heads with the store's tokenizer, 64 positions."""
    folder = tmp_path_factory.mktemp("first") / "model"
    model = build_model(tiny_recipe(), tiny_store.vocabulary.size)
    write_folder(folder, FolderContent(model.encoder, dict(model.heads.items()), tiny_store.tokenizer()))
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("The riverside is quiet in the market square of the stonebridge town.\n\n" * 60)
    return path


class Crash(Exception):
    pass


class CrashingLog(RunLog):
    """A log that fails at a step, as a power cut would end a run there."""

    def write(self, record):
        super().write(record)
        if record.get("step") == 5 and "loss" in record:
            raise Crash


def trained(folder):
    final = folder / "final"
    return [(final / name).read_bytes() for name in ("model.safetensors", "heads.safetensors", "tokenizer.json")]


def test_growth_is_the_same_whole_and_resumed_and_loads_elsewhere(first, text, tmp_path):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    call = {"text": text, "init": first, "add_tokens": NEW, "longer_positions": "tile", "overrides": LONGER}
    pretrain(tiny_recipe(), out=tmp_path / "whole", **call)
    with pytest.raises(Crash):
        pretrain(tiny_recipe(), out=tmp_path / "cut", log=CrashingLog(tmp_path / "cut"), **call)
    result = pretrain(tiny_recipe(), out=tmp_path / "cut", resume=True, **call)
    assert result.resumed_from == 4 and trained(tmp_path / "cut") == trained(tmp_path / "whole")

    final, size = result.final, read_folder(first).config.vocab_size
    tokenizer = AutoTokenizer.from_pretrained(final)
    ids = tokenizer("The riverside, market square.", add_special_tokens=False)["input_ids"]
    assert len(tokenizer) == size + 3 and {size, size + 2} <= set(ids) and tokenizer.model_max_length == 96
    theirs, report = AutoModelForMaskedLM.from_pretrained(final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert theirs.config.vocab_size == size + 3 and theirs.config.max_position_embeddings == 96
    with torch.no_grad():
        assert AutoModel.from_pretrained(final)(torch.tensor([ids * 12])).last_hidden_state.isfinite().all()
    record = json.loads((final / "spanwise.json").read_text())
    assert (record["added_tokens"], record["token_rows"], record["position_rows"]) == (3, "mean", "tile")
    assert json.loads((tmp_path / "cut" / "recipe.json").read_text())["encoder"]["max_positions"] == 96


def test_what_is_grown_can_go_on_again(first, text, tmp_path):
    once = pretrain(tiny_recipe(max_steps=1), text=text, init=first, add_tokens=NEW, out=tmp_path / "once")
    pretrain(tiny_recipe(max_steps=1), text=text, init=once.final, add_tokens=["stonebridge"], out=tmp_path / "twice")
    size = read_folder(first).config.vocab_size
    assert read_folder(tmp_path / "twice" / "final").config.vocab_size == size + 4


def test_resume_with_other_tokens_is_refused(first, text, tmp_path):
    out = tmp_path / "run"
    pretrain(tiny_recipe(max_steps=2), text=text, init=first, add_tokens=NEW, out=out)
    with pytest.raises((ConfigError, DataError), match=r"tokenizer|init"):
        pretrain(tiny_recipe(max_steps=4), text=text, init=first, add_tokens=["other"], out=out, resume=True)


def test_the_weights_are_those_given_but_for_the_new_rows(first, tmp_path, capsys):
    checkpoint, tokenizer = read_folder(first), Tokenizer.load(first)
    log = RunLog(tmp_path, stream=__import__("sys").stdout)
    growth = Growth(add_tokens=(*NEW, "the"), position_rows="tile")
    after, words = grown(checkpoint, tokenizer, growth, max_positions=80, seed=0, log=log)

    size = checkpoint.config.vocab_size
    for name, tensor in checkpoint.tensors.items():
        assert torch.equal(after.tensors[name][: len(tensor)], tensor), name
    changed = {name for name, tensor in checkpoint.tensors.items() if after.tensors[name].shape != tensor.shape}
    assert changed == {WORDS, POSITIONS}
    assert words.vocab_size == size + 3 and tokenizer.vocab_size == size
    told = capsys.readouterr().out
    assert "Added 3 tokens" in told and "1 were there already" in told and "64 became 80" in told


def test_a_store_made_with_the_same_tokens_is_taken_and_another_is_told_how_to_be_made(
    first, text, tiny_store, tmp_path
):
    prepare(text, extend_tokenizer(tiny_store.tokenizer(), NEW).tokenizer, tmp_path / "store")
    assert TokenStore.open(tmp_path / "store").vocabulary.unigram_counts[tiny_store.vocabulary.size] > 0
    recipe = tiny_recipe(max_steps=1)
    pretrain(recipe, data=tmp_path / "store", init=first, add_tokens=NEW, out=tmp_path / "run")
    with pytest.raises(DataError, match="spanwise prepare TEXT --tokenizer INIT --add-tokens FILE"):
        pretrain(recipe, data=tiny_store.path, init=first, add_tokens=NEW, out=tmp_path / "other")


def test_growth_without_weights_is_refused_before_any_file_is_made(text, tmp_path):
    for asked in ({"add_tokens": NEW}, {"longer_positions": "tile"}):
        with pytest.raises(ConfigError, match=f"{next(iter(asked))} adds rows to given weights"):
            pretrain(tiny_recipe(), text=text, out=tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()


def test_a_list_and_a_file_of_tokens_are_the_same_growth(tmp_path):
    (tmp_path / "new.txt").write_text("\n".join(NEW), encoding="utf-8")
    asked = [asked_growth(tokens, "mean", None, has_weights=True) for tokens in (NEW, str(tmp_path / "new.txt"))]
    assert asked[0] == asked[1] == Growth(add_tokens=tuple(NEW))
    assert asked_growth(None, "mean", None, has_weights=False).record == {}


def test_positions_that_are_not_more_are_refused(first, text, tmp_path):
    with pytest.raises(ConfigError, match="64 is not longer than the 64 positions"):
        pretrain(tiny_recipe(), text=text, init=first, longer_positions="tile", out=tmp_path / "run")


def test_longer_sequences_than_positions_tell_of_the_option(first, text, tmp_path):
    with pytest.raises(CheckpointError, match="--longer-positions tile"):
        pretrain(tiny_recipe(), text=text, init=first, overrides=LONGER, out=tmp_path / "run")


def test_a_tokenizer_that_is_not_the_weights_own_is_refused(first, tmp_path):
    checkpoint, tokenizer = read_folder(first), extend_tokenizer(Tokenizer.load(first), ["more"]).tokenizer
    with pytest.raises(CheckpointError, match="only where both agree"):
        grown(checkpoint, tokenizer, Growth(add_tokens=("new",)), max_positions=64, seed=0, log=RunLog(tmp_path))


def asking_recipe(**training):
    """Questions in place of words that recur, beside the usual objectives on other spans."""
    return replace(
        tiny_recipe(**training),
        masking=RecurringSpans(ratio=0.3, frequent_share=1.0),
        replacement=QuestionTokens(others=Replacement()),
    )


def test_the_vocabulary_of_a_run_has_a_piece_for_what_its_recipe_writes(first, text, tiny_store, tmp_path):
    """Learned from text it is reserved; a store and a checkpoint without it get it, and go on with it."""
    ways = {"text": {"text": text}, "data": {"data": tiny_store.path}, "init": {"init": first, "text": text}}
    for name, given in ways.items():
        pretrain(asking_recipe(max_steps=2), out=tmp_path / name, **given)
        words = Tokenizer.load(tmp_path / name / "final")
        assert words.question_id >= 0 and words.tokens([words.question_id]) == ["[QUESTION]"]
        assert read_folder(tmp_path / name / "final").config.vocab_size == words.vocab_size
    assert Tokenizer.load(tmp_path / "text" / "final").question_id < 10  # reserved: among the first ids
    assert Tokenizer.load(tmp_path / "data" / "final").question_id == tiny_store.vocabulary.size
    old, new = read_folder(first), read_folder(tmp_path / "init" / "final")
    assert new.config.vocab_size == old.config.vocab_size + 1
    assert TokenStore.open(tmp_path / "init" / "store").vocabulary.question_id == old.config.vocab_size

    again = tmp_path / "again"
    pretrain(asking_recipe(max_steps=2), out=again, init=tmp_path / "init" / "final", data=tiny_store.path)
    assert Tokenizer.load(again / "final").sha256 == Tokenizer.load(tmp_path / "init" / "final").sha256
    pretrain(asking_recipe(max_steps=2), out=again, init=tmp_path / "init" / "final", data=tiny_store.path, resume=True)


def test_rows_of_a_question_that_was_reserved_are_those_that_were_there(first, tmp_path):
    checkpoint, tokenizer = read_folder(first), Tokenizer.load(first)
    reserved, _ = with_special_pieces(tokenizer, ["[unused0]"])
    bigger = with_rows_for(checkpoint, reserved.vocab_size, seed=0)
    same, asked = grown(bigger, reserved, Growth(), max_positions=64, seed=1, roles=("question",))
    assert same is bigger and asked.question_id == reserved.vocab_size - 1
    assert asked.token_to_id("[unused0]") is None


def test_a_store_opens_with_roles_that_no_text_takes_and_with_nothing_else(tiny_store):
    words = with_roles(tiny_store.tokenizer(), ["question"])
    store = TokenStore.open(tiny_store.path, words)
    assert store.tokenizer_sha256 == words.sha256 and store.sha256 == tiny_store.sha256
    vocabulary = store.vocabulary
    assert vocabulary.size == tiny_store.vocabulary.size + 1 and vocabulary.is_special[vocabulary.question_id]
    assert vocabulary.unigram_counts[:-1].tolist() == tiny_store.vocabulary.unigram_counts.tolist()
    other = extend_tokenizer(words, ["riverside"]).tokenizer
    with pytest.raises(DataError, match="another tokenizer"):
        TokenStore.open(tiny_store.path, other)
    with pytest.raises(DataError, match=r"no \[QUESTION\].*--roles question"):
        check_inputs(asking_recipe(), tiny_store)
