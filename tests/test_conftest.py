"""What the suite's own plumbing relies on."""

from types import SimpleNamespace

import pytest
from tests.conftest import _group_by_file


@pytest.fixture(scope="module")
def shared():
    return object()


def test_what_a_file_shares_puts_its_tests_into_one_group(request, shared):
    assert request.node.get_closest_marker("xdist_group").args == ("tests/test_conftest.py",)


class Item:
    """What grouping looks at in a test, and what it does to it."""

    def __init__(self, nodeid, scope="function", baseid="", slow=False):
        self.nodeid, self.slow, self.group = nodeid, slow, None
        made = SimpleNamespace(scope=scope, baseid=baseid)
        self._fixtureinfo = SimpleNamespace(name2fixturedefs={"made": [made]})

    def get_closest_marker(self, name):
        return self.slow if name == "slow" else None

    def add_marker(self, marker):
        (self.group,) = marker.args


def test_tests_go_with_their_file_or_with_the_folder_that_they_share_and_slow_ones_alone():
    fast, slow = Item("tests/a/test_x.py::one", "session"), Item("tests/a/test_x.py::two", slow=True)
    beside = Item("tests/b/test_z.py::two")
    sharing = [Item(f"tests/b/test_{name}.py::one", "session", "tests/b") for name in "yz"]
    of_file = "tests/c/test_u.py"
    made = Item(f"{of_file}::slow", "module", of_file, slow=True)
    _group_by_file([fast, slow, beside, *sharing, made])
    assert (fast.group, slow.group, made.group) == ("tests/a/test_x.py", None, of_file)
    assert {item.group for item in (beside, *sharing)} == {"tests/b"}


def test_tests_can_be_given_to_one_process_together(request):
    """pytest-xdist groups tests by writing to `_nodeid`; a pytest that reads another name makes shared things twice."""
    node, before = request.node, request.node._nodeid
    try:
        node._nodeid = f"{before}@group"
        assert node.nodeid == f"{before}@group"
    finally:
        node._nodeid = before
