"""Preparing a corpus on a cluster, with datatrove: its executors and filters around our readers and stores."""

from spanwise.integrations.datatrove.language import KeepLanguage
from spanwise.integrations.datatrove.local import WatchedLocalExecutor
from spanwise.integrations.datatrove.stages import Stage, prepare_stages
