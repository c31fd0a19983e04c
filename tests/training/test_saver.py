"""What is saved when, and which checkpoint is called good."""

import torch
from test_loop import OPTIONS, Said
from toy import ToyModel, toy_saver

from spanwise.runtime.progress import RunLog
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import TrainingOptions
from spanwise.training.run_folder import RunFolder
from spanwise.training.saver import Saver


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
