"""TensorBoard gets every number once."""

import pytest


def test_numbers_become_scalars_in_the_folder_of_the_run(tmp_path, stand_in, stopped_and_resumed, expected, rows):
    class SummaryWriter:
        def __init__(self, folder):
            rows.opened.append(folder)

        def add_scalar(self, name, value, step):
            rows.numbers.append(((step, name), value))

        def close(self):
            rows.closed.append(True)

    stand_in("tensorboard")
    stand_in("torch.utils.tensorboard", SummaryWriter=SummaryWriter)
    stopped_and_resumed(tmp_path / "run", "tensorboard")

    assert rows.opened == [str(tmp_path / "run" / "tensorboard")] * 2 and len(rows.closed) == 2
    assert dict(rows.numbers) == expected and len(rows.numbers) == len(expected)


@pytest.mark.slow
def test_the_real_one_reads_them(tmp_path, stopped_and_resumed, expected):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    stopped_and_resumed(tmp_path / "run", "tensorboard")
    read = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    found = [((s.step, name), s.value) for name in read.Tags()["scalars"] for s in read.Scalars(name)]
    assert dict(found) == expected and len(found) == len(expected)
