"""Counters in the text format of Prometheus, version 0.0.4, without its client library: a dozen series need none."""

import threading
from collections.abc import Callable, Mapping

Labels = tuple[tuple[str, str], ...]
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # upper ends of the buckets of a histogram
HELP = {
    "spanwise_requests_total": ("counter", "Requests that were answered, by path and status."),
    "spanwise_request_seconds": ("histogram", "Time from a request's body to its answer."),
    "spanwise_rejected_total": ("counter", "Requests refused because the queue was full."),
    "spanwise_packs_total": ("counter", "Calls of a model, each with one or more inputs."),
    "spanwise_inputs_total": ("counter", "Inputs that a model has answered."),
    "spanwise_expired_total": ("counter", "Inputs dropped because nobody waits for them any more."),
    "spanwise_waiting": ("gauge", "Inputs that wait now."),
    "spanwise_ready": ("gauge", "1 where requests are taken."),
}


class Metrics:
    """Counts from any thread; `gauges` are asked for when somebody reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, Labels], float] = {}
        self.gauges: Mapping[str, Callable[[], float]] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count `amount` more."""
        key = name, tuple(labels.items())
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + amount

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Count one duration into a histogram."""
        for bound in SECONDS:
            self.add(f"{name}_bucket", float(seconds <= bound), le=str(bound), **labels)
        self.add(f"{name}_bucket", 1, le="+Inf", **labels)
        self.add(f"{name}_sum", seconds, **labels)
        self.add(f"{name}_count", 1, **labels)

    def text(self) -> str:
        """Return all series as a page of Prometheus."""
        with self._lock:
            counts = dict(self._counts)
        lines: list[str] = []
        for name, (kind, words) in HELP.items():
            own = [(series, labels, n) for (series, labels), n in counts.items() if series.startswith(name)]
            if name in self.gauges:
                own.append((name, (), self.gauges[name]()))
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            lines += [f"{series}{_shown(labels)} {_number(number)}" for series, labels, number in own]
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Return a number with all its digits: with six of them, a large counter would stand still."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _shown(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
