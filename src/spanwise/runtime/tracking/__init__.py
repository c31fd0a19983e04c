"""The numbers of a run for the trackers that people look at: TensorBoard, Weights & Biases, MLflow and trackio.

`metrics.jsonl` stays the record; a tracker gets copies of its numbers. One file per tracker has its `open_tracker`.
"""

from spanwise.runtime.tracking.tracker import check_trackers
from spanwise.runtime.tracking.tracking import Tracking
