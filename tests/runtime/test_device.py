"""The device and the precision are chosen from what the machine has."""

import os

import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.runtime import device as device_module
from spanwise.runtime.device import (
    HostCopy,
    autocast,
    choose_device,
    deterministic,
    has_bf16,
    has_int8,
    numerics_fingerprint,
    resolve_precision,
)

CPU = torch.device("cpu")


def test_without_a_name_the_best_device_present_is_taken():
    assert choose_device(None).type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device("cpu") == CPU


@pytest.mark.parametrize("name", ["gpu", "cuda:77", "cpu:x", "meta", "mps", "xpu"])
def test_a_device_that_is_not_there_is_refused_with_one_that_is(name):
    with pytest.raises(ConfigError, match="'cpu'"):
        choose_device(name)


def test_auto_precision_follows_the_processor(monkeypatch):
    monkeypatch.setattr(device_module, "cpu_flags", lambda: frozenset({"avx512_bf16"}))
    assert has_bf16(CPU) and resolve_precision("auto", CPU) == "bf16"
    monkeypatch.setattr(device_module, "cpu_flags", lambda: frozenset({"avx2"}))
    assert resolve_precision("auto", CPU) == "fp32"
    with pytest.raises(ConfigError, match="'fp32'"):
        resolve_precision("bf16", CPU)


def test_instruction_sets_that_onednn_is_told_to_leave_alone_do_not_count(monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text("flags\t\t: fma avx2 avx512f avx512_bf16 amx_bf16 avx_vnni\n")
    monkeypatch.setattr(device_module, "Path", lambda _: tmp_path / "cpuinfo")
    for limit, left in (("", 6), ("AVX512_CORE_AMX", 6), ("avx2", 2)):
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
        assert len(device_module.cpu_flags.__wrapped__()) == left
    assert device_module.cpu_flags.__wrapped__() == {"fma", "avx2"}


def test_int8_is_for_processors_that_multiply_bytes_and_for_them_alone(monkeypatch):
    monkeypatch.setattr(device_module, "has_int8", lambda device: device.type == "cpu")
    monkeypatch.setattr(device_module, "cpu_flags", lambda: frozenset({"avx512_bf16"}))
    assert resolve_precision("int8", CPU) == "bf16"  # all but the layers' products
    monkeypatch.setattr(device_module, "cpu_flags", lambda: frozenset({"avx512_vnni"}))
    assert resolve_precision("int8", CPU) == "fp32"
    with pytest.raises(ConfigError, match="cuda is no CPU"):
        resolve_precision("int8", torch.device("cuda"))
    monkeypatch.undo()
    has_int8.cache_clear()
    monkeypatch.setattr(device_module, "cpu_flags", lambda: frozenset({"avx2"}))
    with pytest.raises(ConfigError, match=r"this processor .* Use 'auto' or 'fp32'"):
        resolve_precision("int8", CPU)
    has_int8.cache_clear()


def test_int8_runs_on_the_cpu_where_no_device_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device(None, "int8") == CPU and choose_device(None, "bf16").type == "cuda"


def test_a_precision_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(ConfigError, match="'int4' is unknown; use 'auto', 'fp32', 'bf16', 'int8'"):
        resolve_precision("int4", CPU)


def test_autocast_rounds_matrix_products_only_where_asked():
    a = torch.randn(8, 8)
    with autocast("bf16", CPU):
        assert (a @ a).dtype == torch.bfloat16
    with autocast("fp32", CPU):
        assert (a @ a).dtype == torch.float32


def test_the_fingerprint_changes_with_what_changes_bits():
    before = numerics_fingerprint(CPU, "fp32")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        after = numerics_fingerprint(CPU, "bf16")
    finally:
        torch.set_num_threads(threads)

    assert {name for name in before if before[name] != after[name]} == {"threads", "precision"}


def test_deterministic_holds_inside_the_block_alone_and_leaves_a_workspace_that_was_chosen(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled() and "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    with pytest.raises(KeyError), deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        assert not torch.utils.deterministic.fill_uninitialized_memory
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        raise KeyError
    assert not torch.are_deterministic_algorithms_enabled() and torch.utils.deterministic.fill_uninitialized_memory

    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    with deterministic(True):
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_a_copy_to_the_host_has_the_values_of_its_moment():
    assert HostCopy(torch.tensor([1.5, -2.0], dtype=torch.float64)).read() == [1.5, -2.0]
