"""A checkpoint gives back every bit, never runs code, and is believed only when all of it agrees."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_loop import OPTIONS, Said
from toy import ToyModel, ToySource, toy_saver

from spanwise.errors import CheckpointError, ConfigError, NumericsError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import MANIFEST_NAME, manifest_bytes, read_manifest
from spanwise.runtime.progress import RunLog
from spanwise.training.checkpoint import (
    Saver,
    check_identity,
    fingerprint_change,
    load_tensors,
    newest_checkpoint,
    save_checkpoint,
    step_folders,
    training_tensors,
)
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import TrainingOptions
from spanwise.training.run_folder import RunFolder


def make_saver(folder, said=None, **options) -> Saver:
    model, options = ToyModel(), TrainingOptions(**{**OPTIONS, **options})
    optimizer = build_optimizer(model, options)
    return Saver(
        folder=RunFolder(folder),
        options=options,
        model=model,
        optimizer=optimizer,
        save_model=toy_saver(model),
        log=RunLog(folder, stream=said),
        is_leader=True,
    )


def test_it_is_time_to_save_by_steps_or_by_minutes(tmp_path):
    assert [make_saver(tmp_path, save_every=4).is_due(step) for step in (3, 4, 8)] == [False, True, True]
    assert make_saver(tmp_path, save_minutes=1e-9).is_due(1) and not make_saver(tmp_path, save_minutes=None).is_due(1)


def test_a_checkpoint_with_enormous_weights_is_not_called_good(tmp_path):
    said = Said()
    saver = make_saver(tmp_path, said, keep=9)
    saver.save(1, {})
    with torch.no_grad():
        saver.model.mix.weight[0, 0] = -1e29
    saver.save(2, {})

    assert "step-000000001" in saver.where_to_start_again()
    assert "step-000000002 is no good start: it has a weight of 1e+29" in said.text
    (tmp_path / "checkpoints" / "step-000000001" / "manifest.json").unlink()
    assert saver.where_to_start_again() == "No good checkpoint was saved before: start a new run."


def test_the_final_model_is_written_once_and_again_where_it_is_damaged(tmp_path):
    saver = make_saver(tmp_path)
    saver.commit_final(3)
    assert saver.final_is_whole()
    (tmp_path / "final" / "config.json").write_text("{}")
    assert not saver.final_is_whole()
    saver.commit_final(3)
    assert saver.final_is_whole()


def trained(steps: int = 2):
    """A model and optimizer with moments."""
    model = ToyModel(dropout=0.0)
    optimizer = build_optimizer(model, TrainingOptions(learning_rate=1e-2))
    for step in range(steps):
        optimizer.zero_grad()
        sum(loss.sum for loss in model(ToySource().pack(step, 0)).values()).backward()
        optimizer.step()
    return model, optimizer


def save(folder, step, model, optimizer, keep=2):
    state = {"progress": {"step": step}, "identity": {}, "numerics": {}}
    return save_checkpoint(folder, step, model, optimizer, state, toy_saver(model), keep=keep)


def test_parameters_buffers_and_moments_come_back_bit_for_bit(tmp_path):
    model, optimizer = trained()
    path = save(tmp_path, 2, model, optimizer)
    other, other_optimizer = trained(0)

    load_tensors(path, other, other_optimizer)

    wanted, found = training_tensors(model, optimizer), training_tensors(other, other_optimizer)
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)
    for one, same in zip(model.parameters(), other.parameters(), strict=True):  # in the optimizer, not as it is saved
        before, after = optimizer.state[one], other_optimizer.state[same]
        assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert {name.split("/")[0] for name in wanted} == {"parameter", "buffer", "step", "exp_avg", "exp_avg_sq"}
    assert all(value.dtype == torch.float32 for value in wanted.values())
    assert "parameter/decoder.weight" not in wanted  # tied: once, under its first name


def test_a_checkpoint_holds_tensors_and_json_only(tmp_path):
    model, optimizer = trained()
    path = save(tmp_path, 2, model, optimizer)

    assert set(read_manifest(path)) == {
        "config.json",
        "model.safetensors",
        "training/optimizer.safetensors",
        "training/state.json",
    }
    assert {file.suffix for file in path.rglob("*") if file.is_file()} == {".json", ".safetensors"}


def test_the_oldest_go_only_when_newer_ones_are_whole(tmp_path):
    model, optimizer = trained()
    for step in (1, 2, 3, 10):
        save(tmp_path, step, model, optimizer, keep=2)

    assert [step for step, _ in step_folders(tmp_path)] == [10, 3]


def test_a_checkpoint_behind_damaged_ones_is_kept_and_takes_their_place(tmp_path):
    model, optimizer = trained()
    for step in (4, 90, 100):
        save(tmp_path, step, model, optimizer, keep=3)
    for step in (90, 100):
        (tmp_path / f"step-{step:09d}" / "model.safetensors").write_bytes(b"")
    assert newest_checkpoint(tmp_path, lambda said: None)[1]["step"] == 4

    save(tmp_path, 8, model, optimizer, keep=2)

    assert [step for step, _ in step_folders(tmp_path)] == [8, 4]


def test_of_later_checkpoints_only_damaged_ones_go_and_the_others_do_not_count(tmp_path, monkeypatch):
    said = Said()
    saver = make_saver(tmp_path, said, keep=2)
    for step in (60, 70, 80):
        save(tmp_path / "checkpoints", step, *trained(), keep=9)
    (tmp_path / "checkpoints" / "step-000000070" / "model.safetensors").write_bytes(b"")
    real = DISK.size_and_sha256

    def unreadable(path):
        if "step-000000060" in str(path):
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(type(DISK), "size_and_sha256", lambda self, path: unreadable(path))
    for step in (4, 8, 12):
        saver.save(step, {})

    assert [step for step, _ in step_folders(tmp_path / "checkpoints")] == [80, 60, 12, 8]
    assert said.text.count("is removed") == 1
    assert "Checkpoint step-000000070 is removed: " in said.text


@pytest.mark.parametrize("place", ["parameter", "exp_avg"])
def test_a_poisoned_tensor_is_never_saved_and_the_last_good_checkpoint_stays(tmp_path, place):
    model, optimizer = trained()
    save(tmp_path, 1, model, optimizer)
    poisoned = model.mix.weight if place == "parameter" else optimizer.state[model.mix.weight]["exp_avg"]
    with torch.no_grad():
        poisoned[0, 0] = float("nan")

    with pytest.raises(NumericsError, match=rf"step 2: {place}/mix\.weight"):
        save(tmp_path, 2, model, optimizer)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]
    assert newest_checkpoint(tmp_path, pytest.fail)[1]["step"] == 1


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_taken(tmp_path):
    model, optimizer = trained()
    for step in (1, 2):
        save(tmp_path, step, model, optimizer)
    file = tmp_path / "step-000000002" / "training" / "optimizer.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    said = []

    path, state = newest_checkpoint(tmp_path, said.append)

    assert path.name == "step-000000001" and state["step"] == 1
    assert len(said) == 1 and str(file) in said[0]


def test_where_every_checkpoint_is_damaged_training_does_not_start_from_zero(tmp_path):
    assert newest_checkpoint(tmp_path, pytest.fail) is None
    model, optimizer = trained()
    (save(tmp_path, 1, model, optimizer) / MANIFEST_NAME).unlink()

    with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
        newest_checkpoint(tmp_path, lambda said: None)


def test_a_checkpoint_without_its_training_part_is_not_gone_on_from(tmp_path):
    model, optimizer = trained()
    path = save(tmp_path, 1, model, optimizer)
    for file in (path / "training").iterdir():
        file.unlink()
    with pytest.raises(CheckpointError):
        newest_checkpoint(tmp_path, lambda said: None)


def rewritten(path, change) -> None:
    """Change the tensors and make the manifest agree: a whole checkpoint of another model."""
    file = path / "training" / "optimizer.safetensors"
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file)
    (path / MANIFEST_NAME).write_bytes(manifest_bytes({}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("parameter/mix.weight"), r"has no parameter/mix\.weight"),
        (lambda t: t.pop("buffer/scale"), "has no buffer/scale"),
        (lambda t: t.update({"parameter/mix.gamma": torch.ones(1)}), r"mix\.gamma, which the model does not know"),
        (lambda t: t.update({"parameter/mix.weight": torch.ones(3, 3)}), r"\(3, 3\)"),
        (lambda t: t.update({"parameter/mix.weight": t["parameter/mix.weight"].half()}), "float16"),
        (lambda t: t.update({"exp_avg/mix.weight": torch.ones(3)}), "another than its parameter"),
        (lambda t: t.update({"exp_avg/other": torch.ones(3)}), "exp_avg/other"),
    ],
)
def test_tensors_of_another_model_are_refused_and_nothing_is_loaded(tmp_path, change, said):
    model, optimizer = trained()
    path = save(tmp_path, 1, model, optimizer)
    rewritten(path, change)
    other, other_optimizer = trained(0)
    before = training_tensors(other, other_optimizer)

    with pytest.raises(CheckpointError, match=said):
        load_tensors(path, other, other_optimizer)
    after = training_tensors(other, other_optimizer)
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_another_identity_is_refused_with_every_difference_and_harmless_options_may_differ():
    saved = {"recipe": {"masking": {"p": 0.2}}, "store": "abc", "options": {"log_every": 10, "seed": 0}}

    check_identity(saved, json.loads(json.dumps({**saved, "options": {"log_every": 5, "seed": 0}})))
    with pytest.raises(ConfigError) as error:
        check_identity(saved, {**saved, "recipe": {"masking": {"p": 0.3}}, "store": "abd"})
    assert "recipe.masking.p: 0.2 -> 0.3" in str(error.value) and "store: abc -> abd" in str(error.value)


def test_values_of_parts_that_are_named_as_harmless_options_must_stay():
    saved = {"recipe": {"masking": {"keep": 0.2}, "training": {"keep": 2}}, "options": {"keep": 2}}

    check_identity(saved, {**saved, "recipe": {**saved["recipe"], "training": {"keep": 3}}, "options": {"keep": 3}})
    with pytest.raises(ConfigError, match=r"recipe\.masking\.keep: 0\.2 -> 0\.3"):
        check_identity(saved, {**saved, "recipe": {**saved["recipe"], "masking": {"keep": 0.3}}})


def test_another_machine_is_one_line_of_warning():
    assert fingerprint_change({"threads": 2}, {"threads": 2}) == ""
    assert fingerprint_change({"threads": 2}, {"threads": 4}) == "Same samples, not the same bits: threads 2 -> 4."
