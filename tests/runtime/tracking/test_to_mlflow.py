"""MLflow gets every number once, in one run, in the file store of the run where no server is named."""

from types import SimpleNamespace

import pytest


def test_a_resumed_run_goes_on_in_the_same_run(tmp_path, stand_in, stopped_and_resumed, expected, rows, monkeypatch):
    class Client:
        def __init__(self, tracking_uri):
            rows.opened.append(tracking_uri)

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            return name

        def create_run(self, experiment, run_name):
            return SimpleNamespace(info=SimpleNamespace(run_id=f"{experiment}:{run_name}"))

        def log_dict(self, run, content, name):
            assert content == {"seed": 3}

        def update_run(self, run, status):
            rows.closed.append((run, status))

        def log_batch(self, run, metrics):
            assert run == "mine:runs-qa"
            rows.numbers += [((m.step, m.key), m.value) for m in metrics]

        def set_terminated(self, run):
            rows.closed.append((run, "ended"))

    def metric(key, value, timestamp, step):
        return SimpleNamespace(key=key, value=value, step=step)

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    stand_in("mlflow", MlflowClient=Client)
    stand_in("mlflow.entities", Metric=metric)
    stopped_and_resumed(tmp_path / "runs" / "qa", "mlflow")

    assert rows.opened == [(tmp_path / "runs" / "qa" / "mlflow").as_uri()] * 2
    assert rows.closed == [("mine:runs-qa", "ended"), ("mine:runs-qa", "RUNNING"), ("mine:runs-qa", "ended")]
    assert dict(rows.numbers) == expected and len(rows.numbers) == len(expected)


@pytest.mark.slow
def test_the_real_one_keeps_them_in_a_file_store(tmp_path, stopped_and_resumed, expected, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    stopped_and_resumed(tmp_path / "run", "mlflow")

    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=(tmp_path / "run" / "mlflow").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("spanwise").experiment_id])
    names = {name for _, name in expected}
    found = [((m.step, name), m.value) for name in names for m in client.get_metric_history(run.info.run_id, name)]
    assert dict(found) == expected and len(found) == len(expected)
    assert run.info.status == "FINISHED"
