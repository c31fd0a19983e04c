"""Adaptation as one call: better on one's own text, general text within its bound, and the same bits after a kill."""

import itertools
import json
import os
import random
import signal
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from tests.adapt.conftest import adapting_in
from tests.reliability.kills import ended
from tests.reliability.kills import start as start_process
from transformers import AutoModelForMaskedLM, AutoTokenizer, SplinterForPreTraining

from spanwise.adapt.options import AdaptationOptions, Length
from spanwise.adapt.run import adapt
from spanwise.adapt.texts import SourceText
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.interop.sources import find_folder
from spanwise.runtime.files import verify_folder
from spanwise.text.corpus import CorpusOptions
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import NOT_STATED, Origin, learned_by


def encoder_of(folder):
    return read_folder(folder).tensors


@pytest.fixture(scope="module")
def adapted(start, own_text, general, tmp_path_factory):
    """A folder with one adaptation that came to its end, its result, and the call that made it; no test changes it."""
    folder = tmp_path_factory.mktemp("adapted")
    origins = [Origin(licence="CC BY 4.0")]
    call = partial(adapting_in(folder, own_text, general), start, steps=40, origins=origins)
    return folder / "out", call(general_bound=0.5), call


def test_it_ends_better_on_the_own_text_and_within_the_bound_and_says_both(start, adapted):
    out, result, _ = adapted
    record = result.record
    assert record.outcome == "adapted" and record.fresh_heads == [] and record.objective == "spans"
    assert record.after.own.loss < record.before.own.loss - 0.2 and record.kept.low > 0
    assert record.after.own.loss == pytest.approx(min(c.own for c in record.checks if c.is_within_bound))
    whole = [check.step for check in record.checks if check.share == 1]
    assert whole == [8, 16, 24, 32, 40] and len(record.checks) == 10  # and a part of the way to each
    kept = encoder_of(result.final)
    assert any(not torch.equal(kept[name], tensor) for name, tensor in encoder_of(start).items())
    verify_folder(result.final)
    card = (result.final / "README.md").read_text()
    assert "Adapted from" in card and f"{record.after.own.loss:.3f} after" in card
    written = json.loads((out / "adaptation.json").read_text())
    assert written["after"]["own"]["loss"] == record.after.own.loss and written["own_text"]["held_out_documents"] == 8
    assert any(f"from {record.before.own.loss:.3f} to" in line for line in result.report)
    _, report = AutoModelForMaskedLM.from_pretrained(result.final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]


def test_both_texts_are_added_to_what_the_start_learned_from(adapted):
    learned = learned_by(read_folder(adapted[1].final).record, "")
    assert [(one.file, one.licence) for one in learned] == [
        ("store", NOT_STATED), ("own.txt", "CC BY 4.0"), ("text.txt", NOT_STATED)
    ]  # fmt: skip


def test_the_figures_are_those_of_the_folders(start, run_adapt, tmp_path, gauges):
    """Measured again from the files alone, start and result have the losses that the record says."""
    from spanwise.adapt.measure import HeldOutText
    from spanwise.adapt.recipe import adaptation_recipe
    from spanwise.data.token_store import TokenStore
    from spanwise.pretraining.system import continue_model

    record = run_adapt(start, general_bound=0.5).record
    assert record.outcome == "adapted"  # so these are two models
    checkpoint = read_folder(start)
    recipe = adaptation_recipe(checkpoint, "spans", seed=0, length=Length(steps=20))
    store = TokenStore.open(tmp_path / "out" / "texts" / "own-held-out")
    held_out = HeldOutText(recipe, store, record.own_text.clusters)
    for folder, figure in ((start, record.before.own), (tmp_path / "out" / "final", record.after.own)):
        model, fresh = continue_model(recipe, read_folder(folder))
        assert fresh == ()
        assert held_out.losses(model, "cpu", "auto").mean("token") == pytest.approx(figure.loss, abs=2e-3)
    assert gauges["measuring"][0] == gauges["measuring"][1] >= 4 * held_out.num_tokens


def test_a_rate_that_spoils_keeps_the_start_and_counts_as_no_win(start, run_adapt):
    result = run_adapt(start, overrides=["training.learning_rate=0.5", "training.warmup_steps=0"], general_bound=0.0)
    assert result.record.outcome == "unchanged" and result.record.kept_step == 0
    assert result.record.after == result.record.before
    assert any(check.general_rise > 0 for check in result.record.checks)
    assert len(learned_by(read_folder(result.final).record, "")) == 1  # it learned from nothing more
    kept, given = encoder_of(result.final), encoder_of(start)
    assert kept.keys() == given.keys() and all(torch.equal(kept[name], given[name]) for name in given)
    assert Tokenizer.load(result.final).sha256 == Tokenizer.load(start).sha256
    assert any("kept unchanged, which is no win" in line for line in result.report)
    assert "kept unchanged" in (result.final / "README.md").read_text()


def test_where_the_general_loss_rose_beyond_the_bound_the_step_before_is_kept(start, run_adapt):
    """A rate that grows to the end without replay: own text is won at first, general text is lost later."""
    result = run_adapt(
        start,
        steps=80,
        overrides=["training.schedule=constant", "training.warmup_steps=0.99", "training.learning_rate=4e-3"],
        general_bound=0.1,
        replay_share=0.0,
    )
    record = result.record
    beyond = [check.step for check in record.checks if not check.is_within_bound]
    assert record.outcome == "adapted" and beyond and (record.kept_step < min(beyond) or record.kept.share < 1)
    assert record.after.general.loss <= 1.1 * record.before.general.loss
    assert min(check.own for check in record.checks) < record.after.own.loss  # later ones were better there alone
    assert any("beyond that bound" in line for line in result.report)


def test_fresh_heads_are_taught_with_the_encoder_still_before_anything_is_measured(
    start, start_without_heads, run_adapt, tmp_path
):
    result = run_adapt(start_without_heads, objective="spans", general_bound=0.5, unproven=True, steps=40)
    record = result.record
    assert record.fresh_heads == ["mlm", "sbo"] and record.heads_seconds > 0
    assert record.num_steps == 30 and record.checks[-1].step == 30  # a quarter of 40 was for the heads
    taught, given = read_folder(tmp_path / "out" / "heads" / "final"), encoder_of(start_without_heads)
    assert all(torch.equal(taught.tensors[name], given[name]) for name in given)
    still = ["training.learning_rate=1e-30"]
    fresh = run_adapt(start_without_heads, objective="spans", out="zero", overrides=still, unproven=True, steps=40)
    assert fresh.record.outcome == "unchanged"  # heads alone win nothing
    assert record.before == fresh.record.before
    uniform = np.log(read_folder(start).config.vocab_size)
    assert record.before.general.objectives["mlm"] < uniform - 0.3  # what untaught heads would have
    assert any("with the encoder still" in line for line in result.report)


def test_only_the_head_that_is_missing_is_taught_and_the_other_stays(start, tmp_path, run_adapt):
    from spanwise.interop.checkpoint import build_encoder, build_head
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder

    checkpoint = read_folder(start)
    encoder = build_encoder(checkpoint)
    write_folder(
        tmp_path / "mlm", FolderContent(encoder, {"mlm": build_head(checkpoint, "mlm", encoder)}, Tokenizer.load(start))
    )
    record = run_adapt(tmp_path / "mlm", objective="spans").record
    assert record.fresh_heads == ["sbo"]
    taught = read_folder(tmp_path / "out" / "heads" / "final").heads
    assert all(torch.equal(taught["mlm"][name], tensor) for name, tensor in checkpoint.heads["mlm"].items())
    assert run_adapt(tmp_path / "mlm", out="auto").record.objective == "mlm"  # as the start learned


RECURS = ["masking.first.frequent_share=1"]  # these texts have so few words that each would be a stop word


def test_selection_beside_words_is_taught_first_and_measured_head_by_head(start, run_adapt, tmp_path):
    record = run_adapt(start, objective="both", overrides=RECURS, general_bound=0.9).record
    assert record.objective == "both" and record.fresh_heads == ["span_selection"]
    for figure in (record.before.own, record.before.general, record.after.own):
        assert list(figure.objectives) == ["mlm", "sbo", "span_selection"]
        assert figure.loss == pytest.approx(sum(figure.objectives.values()))
    taught, given = read_folder(tmp_path / "out" / "heads" / "final"), read_folder(start)
    assert all(
        torch.equal(taught.heads["sbo"][name], part) for name, part in given.heads["sbo"].items() if "bias" not in name
    )
    old_rows = taught.tensors["embeddings.word.weight"][: given.config.vocab_size]
    assert torch.equal(old_rows, given.tensors["embeddings.word.weight"])
    assert "question" in Tokenizer.load(tmp_path / "out" / "final").roles


def test_a_start_with_a_pointer_keeps_it_and_goes_on_with_it_by_auto(start, run_adapt, tmp_path):
    run_adapt(start, objective="selection", out="first", overrides=["masking.frequent_share=1"], general_bound=0.9)
    pointing = tmp_path / "first" / "final"
    again = run_adapt(
        pointing, out="still", overrides=[*RECURS, "training.learning_rate=1e-30", "batch.tokens_per_step=512"]
    )
    assert again.record.objective == "both" and again.record.fresh_heads == []
    kept, given = read_folder(again.final), read_folder(pointing)
    assert all(
        torch.equal(kept.heads["span_selection"][name], part) for name, part in given.heads["span_selection"].items()
    )
    assert Tokenizer.load(again.final).sha256 == Tokenizer.load(pointing).sha256
    assert set(kept.heads) >= {"mlm", "sbo", "span_selection"}


def test_a_folder_of_splinter_goes_on_as_one(start, run_adapt, tmp_path):
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.nn.encoder import Encoder
    from spanwise.nn.heads.span_selection import SpanSelectionHead
    from spanwise.text.extend import with_roles

    words = with_roles(Tokenizer.load(start), ("question",))
    encoder = Encoder(replace(read_folder(start).config, vocab_size=words.vocab_size, pooler=False))
    torch.manual_seed(0)
    pointer = SpanSelectionHead(encoder.config)
    content = FolderContent(encoder, {"span_selection": pointer}, words, model_type="splinter")
    write_folder(tmp_path / "splinter", content)
    result = run_adapt(tmp_path / "splinter", overrides=["masking.frequent_share=1"], general_bound=0.9)
    assert result.record.objective == "selection" and result.record.fresh_heads == []
    assert any("nats per question" in line for line in result.report)
    loaded, report = SplinterForPreTraining.from_pretrained(result.final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert loaded.config.question_token_id == words.roles["question"]
    moved = read_folder(tmp_path / "out" / "checkpoints" / "step-000000020").heads["span_selection"]
    assert not torch.equal(moved["start.weight"], pointer.start.weight)


def test_where_nothing_recurs_selection_is_refused_and_leaves_no_store(start, run_adapt, tmp_path):
    with pytest.raises(DataError, match="no span recurs in what is kept out of tiny text"):
        run_adapt(start, objective="selection")  # every word of these texts is more than a thousandth of them
    assert not (tmp_path / "out" / "texts").exists()
    assert run_adapt(start, objective="selection", overrides=["masking.frequent_share=1"], steps=8).record.checks


def test_general_text_has_its_share_of_what_is_read(start, run_adapt, tmp_path):
    run_adapt(start, replay_share=0.3, steps=20)
    log = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in log if "losses" in line][-1]
    stores = json.loads((tmp_path / "out" / "recipe.json").read_text())
    assert stores["name"] == "adapt-spans"
    passed = {}
    for name in ("own", "general"):
        from spanwise.adapt.recipe import adaptation_recipe
        from spanwise.data.token_store import TokenStore

        recipe = adaptation_recipe(read_folder(start), "spans", seed=0, length=Length(steps=20))
        table = recipe.format.blocks(TokenStore.open(tmp_path / "out" / "texts" / name), 0, 0)
        passed[name] = last["epochs"][name] * int(table.packed_lengths.sum())
    assert passed["general"] / sum(passed.values()) == pytest.approx(0.3, abs=0.02)


def test_nothing_that_is_measured_is_trained_on(start, run_adapt, tmp_path):
    from spanwise.data.token_store import TokenStore

    run_adapt(start, steps=8)
    read = {}
    for name in ("own", "own-held-out", "general", "general-held-out"):
        store = TokenStore.open(tmp_path / "out" / "texts" / name)
        borders = store.sentence_offsets[store.document_borders]
        ids = store.gather(borders[:-1], np.diff(borders))
        read[name] = {tuple(ids[first:last].tolist()) for first, last in itertools.pairwise(borders)}
    assert len(read["own-held-out"]) == 8 and len(read["general-held-out"]) == 8
    assert not (read["own-held-out"] | read["general-held-out"]) & (read["own"] | read["general"])


def test_new_pieces_are_read_by_auto_tokenizer_with_equal_ids(start, run_adapt, own_text):
    result = run_adapt(start, new_pieces=4, general_bound=0.5, steps=64)
    record = result.record
    old = Tokenizer.load(start)
    assert 1 <= len(record.new_pieces) <= 4 and record.unit == "character"
    assert all(len(old.encode(word).ids) >= 3 for word in record.new_pieces)
    assert record.outcome == "adapted"
    words = Tokenizer.load(result.final)
    assert words.vocab_size == old.vocab_size + len(record.new_pieces)
    theirs = AutoTokenizer.from_pretrained(result.final)
    for line in own_text.read_text().splitlines()[:20]:
        ids = words.encode(line).ids.tolist()
        assert theirs(line, add_special_tokens=False)["input_ids"] == ids
        assert words.unk_id in ids or words.decode(ids).replace(" ", "") == line.replace(" ", "")
    assert any("words became pieces" in line for line in result.report)
    assert AutoModelForMaskedLM.from_pretrained(result.final).config.vocab_size == words.vocab_size


def test_new_pieces_begin_at_means_and_where_they_win_nothing_the_start_keeps_its_own(start, run_adapt, tmp_path):
    result = run_adapt(start, new_pieces=4, overrides=["training.learning_rate=1e-30"])
    assert result.record.outcome == "unchanged"
    old, given = Tokenizer.load(start), read_folder(start)
    assert Tokenizer.load(result.final).sha256 == old.sha256
    moved = read_folder(tmp_path / "out" / "checkpoints" / "step-000000020")  # by so small a rate not at all
    for number, word in enumerate(result.record.new_pieces):
        ids, row = old.encode(word).ids, old.vocab_size + number
        for new, before in (
            (moved.tensors["embeddings.word.weight"], given.tensors["embeddings.word.weight"]),
            (moved.heads["mlm"]["bias"], given.heads["mlm"]["bias"]),
            (moved.heads["sbo"]["bias"], given.heads["sbo"]["bias"]),
        ):
            assert torch.allclose(new[row], before[torch.as_tensor(ids)].mean(0), atol=1e-7)


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_an_adaptation_killed_anywhere_goes_on_bit_for_bit(start_without_heads, own_text, tiny_text, tmp_path, rounds):
    options = AdaptationOptions(length=Length(steps=40), objective="spans", general_bound=0.02, replay_share=0.0)
    small = ["batch.tokens_per_step=512", "batch.max_tokens=512", "training.threads=1", "training.save_every=3"]
    source = SourceText(name="tiny", texts=[tiny_text], corpus=CorpusOptions())

    def adapt_in(out):
        same = {"general": source, "options": options, "overrides": small, "unproven": True}
        adapt(start_without_heads, [own_text], out=out, resume=True, **same)
        return 0

    assert ended([start_process(partial(adapt_in, tmp_path / "whole"), tmp_path / "whole")]) == [0]
    draw = random.Random(20261123)
    expected = results(tmp_path / "whole")
    assert any(0 < check["share"] < 1 for check in expected[1]["checks"])  # part of the way was measured too
    for number in range(rounds):
        out, kills = tmp_path / f"killed-{number}", 0
        while not (out / "adaptation.json").exists():
            process = start_process(partial(adapt_in, out), out)
            if kills < 3:
                mark = [out / "heads" / "checkpoints", out / "checkpoints", out / "best"][kills]
                deadline = time.monotonic() + 120
                while not mark.exists() and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(draw.uniform(0.0, 0.3))
                os.kill(process, signal.SIGKILL)
                kills += 1
            assert ended([process])[0] in (0, -signal.SIGKILL), (tmp_path / f"{out.name}.err").read_text()
        assert results(out) == expected


def results(out):
    names = ("model.safetensors", "heads.safetensors", "README.md", "tokenizer.json", "spanwise.json")
    record = json.loads((out / "adaptation.json").read_text())
    told = {key: value for key, value in record.items() if key not in ("seconds", "heads_seconds", "final")}
    return {name: (out / "final" / name).read_bytes() for name in names}, told


def test_a_finished_adaptation_that_goes_on_changes_nothing_and_another_call_is_refused(adapted):
    _, first, call = adapted
    before = (first.final / "model.safetensors").read_bytes()
    again = call(general_bound=0.5, resume=True)
    assert again.record.after == first.record.after and again.record.checks == first.record.checks
    assert (first.final / "model.safetensors").read_bytes() == before
    with pytest.raises(ConfigError, match="options"):
        call(general_bound=0.4, resume=True)
    with pytest.raises(ConfigError, match="new folder"):
        call(general_bound=0.5)


def test_a_budget_that_is_over_before_a_step_keeps_the_start_and_says_how_long_it_takes(start, run_adapt, tmp_path):
    for resume in (False, True):
        result = run_adapt(start, length=Length(seconds=0.01), resume=resume)
        record = result.record
        assert record.outcome == "unchanged" and record.num_steps == 0 and record.checks == []
        kept, given = encoder_of(result.final), encoder_of(start)
        assert kept.keys() == given.keys() and all(torch.equal(kept[name], given[name]) for name in given)
        verify_folder(result.final)
        told = "\n".join(result.report)
        assert "0 s of this run are too few" in told and "Give a longer --budget" in told
        assert "kept unchanged, which is no win: no step was made." in told
        assert find_folder(tmp_path / "out") == result.final


@pytest.mark.parametrize(
    "what", ["small", "missing", "tokenizer", "causal", "kind", "objective", "pieces", "steps", "length"]
)
def test_what_cannot_work_is_told_before_anything_is_written(what, start, run_adapt, own_text, tmp_path):
    given, options, error, words = start, {}, DataError, ""
    if what == "small":
        (tmp_path / "small.txt").write_text("A line. Another one.\n\nA third.")
        options, words = {"texts": [tmp_path / "small.txt"]}, "your text is too small"
    if what == "missing":
        options, words = {"texts": [tmp_path / "nowhere.txt"]}, "nowhere.txt does not exist"
    if what == "tokenizer":
        given, error, words = tmp_path / "bare", CheckpointError, "holds no tokenizer"
        given.mkdir()
        for name in ("config.json", "model.safetensors"):
            (given / name).write_bytes((start / name).read_bytes())
    if what == "causal":
        given, error, words = causal_folder(tmp_path, start), CheckpointError, "from left to right"
    if what == "kind":
        given, error, words = byte_bpe_folder(tmp_path, own_text), CheckpointError, "byte-bpe"
        options = {"new_pieces": 3}
    if what == "objective":
        options, error, words = {"objective": "pictures"}, ConfigError, "pictures"
    if what == "pieces":
        options, error, words = {"objective": "selection", "new_pieces": 3}, ConfigError, "has questions in their place"
    if what == "steps":
        options, error, words = {"steps": 3}, ConfigError, "fewer than the 5 checks"
    if what == "length":
        options, error, words = (
            {"overrides": ["training.max_steps=3"]},
            ConfigError,
            "max_steps would be another length",
        )
    with pytest.raises(error, match=words):
        run_adapt(given, **options)
    assert not (tmp_path / "out").exists()


def causal_folder(tmp_path, start):
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.nn.encoder import Encoder

    config = replace(read_folder(start).config, causal=True)
    write_folder(tmp_path / "causal", FolderContent(Encoder(config), {}, Tokenizer.load(start)))
    return tmp_path / "causal"


def byte_bpe_folder(tmp_path, text):
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import write_folder
    from spanwise.nn.config import EncoderConfig
    from spanwise.nn.encoder import Encoder
    from spanwise.text.learn import learn_tokenizer

    words = learn_tokenizer(text, vocab_size=300, kind="byte-bpe")
    shape = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "intermediate_size": 64}
    config = EncoderConfig(**shape, vocab_size=words.vocab_size)
    write_folder(tmp_path / "bytes", FolderContent(Encoder(config), {}, words))
    return tmp_path / "bytes"


def test_general_text_of_another_language_is_the_users_choice(start, run_adapt, tmp_path):
    lines = [f"이 마을의 오래된 다리는 {number}년에 만들었다. 강은 그 아래로 흐른다." for number in range(60)]
    (tmp_path / "ko.txt").write_text("\n\n".join(lines), encoding="utf-8")
    korean = SourceText(name="Korean", texts=[tmp_path / "ko.txt"], corpus=CorpusOptions(language="ko"))
    assert run_adapt(start, general=korean, steps=8).record.general_text == "Korean"
