"""What the suite's own plumbing relies on."""


def test_tests_can_be_given_to_one_process_together(request):
    """pytest-xdist groups tests by writing to `_nodeid`; a pytest that reads another name makes shared things twice."""
    node, before = request.node, request.node._nodeid
    try:
        node._nodeid = f"{before}@group"
        assert node.nodeid == f"{before}@group"
    finally:
        node._nodeid = before
