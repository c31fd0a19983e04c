"""What the suite's own plumbing relies on."""

import pytest


@pytest.fixture(scope="module")
def shared():
    return object()


def test_what_a_file_shares_puts_its_tests_into_one_group(request, shared):
    assert request.node.get_closest_marker("xdist_group").args == ("tests/test_conftest.py",)


def test_what_shares_nothing_goes_with_its_file(request):
    assert request.node.get_closest_marker("xdist_group").args == ("tests/test_conftest.py",)


@pytest.mark.slow
def test_a_slow_test_that_shares_nothing_goes_alone(request):
    assert request.node.get_closest_marker("xdist_group") is None


def test_tests_can_be_given_to_one_process_together(request):
    """pytest-xdist groups tests by writing to `_nodeid`; a pytest that reads another name makes shared things twice."""
    node, before = request.node, request.node._nodeid
    try:
        node._nodeid = f"{before}@group"
        assert node.nodeid == f"{before}@group"
    finally:
        node._nodeid = before
