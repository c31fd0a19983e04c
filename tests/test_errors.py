"""Exit statuses are part of the interface: scripts test for them."""

import pytest

from spanwise import errors


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("SpanwiseError", 1),
        ("ConfigError", 2),
        ("DataError", 3),
        ("CheckpointError", 4),
        ("NumericsError", 5),
        ("PeerLostError", 6),
        ("FolderInUseError", 7),
        ("InterruptedAndSaved", 75),
    ],
)
def test_each_error_keeps_its_exit_status(name, status):
    assert getattr(errors, name).exit_status == status
    assert issubclass(getattr(errors, name), errors.SpanwiseError)
