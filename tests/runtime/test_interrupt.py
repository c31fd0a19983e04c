"""The first signal asks, the second stops; afterwards all is as before."""

import os
import signal
import threading

import pytest

from spanwise.runtime.interrupt import StopRequested


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_a_flag_and_the_second_stops_at_once(number):
    before = signal.getsignal(number)
    with StopRequested() as stop:
        assert not stop
        os.kill(os.getpid(), number)
        assert stop
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_outside_the_main_thread_only_a_request_sets_the_flag():
    seen = []

    def work():
        with StopRequested() as stop:
            stop.request()
            seen.append(bool(stop))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]
