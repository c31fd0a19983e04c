import time

from spanwise.pretraining.warm import compile_loops


def test_the_second_time_costs_next_to_nothing():
    compile_loops()
    began = time.process_time()
    compile_loops()
    warm = time.process_time() - began
    assert warm < 2.0  # CPU seconds; compiling takes ten
