"""MLflow. MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME are respected; without the first, the run folder gets a file
store `mlflow`, which `mlflow ui --backend-store-uri` shows."""

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from spanwise.runtime.files import RECIPE_NAME
from spanwise.runtime.tracking.tracker import PROJECT, TrackedRun, Tracker


class MLflow:
    """A run of MLflow."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client = client
        self.run_id = run_id

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        """Send all numbers of a step at once."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        named = {re.sub(r"[^\w\-. /]", "_", name): value for name, value in numbers.items()}  # the signs that it takes
        self._client.log_batch(self.run_id, metrics=[Metric(name, value, now, step) for name, value in named.items()])

    def close(self) -> None:
        """Mark the run as ended; going on with it marks it as running."""
        self._client.set_terminated(self.run_id)


def open_tracker(run: TrackedRun) -> Tracker:
    """Begin a run of MLflow, or go on with it."""
    from mlflow import MlflowClient

    address = os.environ.get("MLFLOW_TRACKING_URI")
    if address is None:
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # recent versions ask for a database otherwise
        address = (run.folder / "mlflow").absolute().as_uri()
    client = MlflowClient(tracking_uri=address)
    if run.run_id is not None:
        client.update_run(run.run_id, status="RUNNING")
        return MLflow(client, run.run_id)
    project = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
    experiment = client.get_experiment_by_name(project)
    number = client.create_experiment(project) if experiment is None else experiment.experiment_id
    begun = client.create_run(number, run_name=run.name)
    client.log_dict(begun.info.run_id, run.recipe, RECIPE_NAME)
    return MLflow(client, begun.info.run_id)
