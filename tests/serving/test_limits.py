"""The limits fit one another."""

from spanwise.serving.limits import Limits


def test_a_request_within_its_limits_fits_into_a_body_and_the_queue():
    limits = Limits()
    assert limits.text <= limits.request <= limits.waiting_text
    assert 4 * limits.request <= limits.body <= limits.buffered  # four bytes are the longest character
    assert limits.inputs <= limits.waiting
