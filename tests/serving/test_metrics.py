"""The text format of Prometheus."""

from spanwise.serving.metrics import HELP, Metrics


def test_counts_histograms_and_gauges_are_written():
    metrics = Metrics()
    metrics.gauges = {"spanwise_waiting": lambda: 7}
    metrics.add("spanwise_requests_total", path="/v1/x", status="200")
    metrics.add("spanwise_requests_total", path="/v1/x", status="200")
    metrics.observe("spanwise_request_seconds", 0.03, task="qa")
    lines = metrics.text().splitlines()
    assert 'spanwise_requests_total{path="/v1/x",status="200"} 2' in lines
    assert 'spanwise_request_seconds_bucket{le="0.025",task="qa"} 0' in lines
    assert 'spanwise_request_seconds_bucket{le="0.05",task="qa"} 1' in lines
    assert 'spanwise_request_seconds_bucket{le="+Inf",task="qa"} 1' in lines
    assert "spanwise_waiting 7" in lines
    metrics.add("spanwise_inputs_total", 1_234_567)
    metrics.observe("spanwise_request_seconds", 1_234_567.125, task="qa")
    assert "spanwise_inputs_total 1234567" in metrics.text()
    assert 'spanwise_request_seconds_sum{task="qa"} 1234567.155' in metrics.text()
    assert sum(line.startswith("# TYPE") for line in lines) == len(HELP)
