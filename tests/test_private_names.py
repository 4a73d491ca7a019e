"""What we use of libraries beyond what they document, as tests/private_names.md lists it, is still there.

A test here that fails says that a library has changed: look at what it was used for before pinning anything.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

LISTED = (Path(__file__).parent / "private_names.md").read_text()


def test_the_list_is_short() -> None:
    rows = [line for line in LISTED.splitlines() if line.startswith("| ")][2:]
    assert 0 < len(rows) < 10


def test_uvicorns_protocol_has_what_ours_overrides() -> None:
    protocol = pytest.importorskip("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    for name in ("connection_made", "connection_lost", "data_received", "on_headers_complete", "on_body", "shutdown"):  # fmt: skip
        assert callable(getattr(protocol, name))
    state = inspect.getsource(protocol.__init__)
    for name in ("cycle", "pipeline", "transport", "loop", "connections", "limit_concurrency"):
        assert f"self.{name}" in state


def test_transformers_models_say_what_they_can() -> None:
    transformers = pytest.importorskip("transformers")
    for name in ("_no_split_modules", "_keep_in_fp32_modules", "_is_stateful", "_supports_sdpa", "_supports_attention_backend"):  # fmt: skip
        assert hasattr(transformers.PreTrainedModel, name), name


def test_peft_turns_adapters_off_by_a_flag() -> None:
    tuners = pytest.importorskip("peft.tuners.tuners_utils")
    assert tuners.BaseTunerLayer._disable_adapters is False


def test_liger_patches_a_model_that_is_there() -> None:
    liger = pytest.importorskip("liger_kernel.transformers.monkey_patch")
    assert "model" in inspect.signature(liger._apply_liger_kernel_to_instance).parameters


def test_vllm_names_the_memory_that_its_processes_share() -> None:
    communicator: Any = pytest.importorskip("vllm.distributed.device_communicators.cpu_communicator")
    assert isinstance(
        inspect.getattr_static(communicator._CPUSHMDistributed, "make_group_name"), staticmethod
    )


def test_vllms_engine_can_be_left_alone() -> None:
    clients: Any = pytest.importorskip("vllm.v1.engine.core_client")
    assert "_finalizer" in inspect.getsource(clients)
    state: Any = pytest.importorskip("vllm.distributed.parallel_state")
    assert hasattr(state, "_WORLD")
    tables: Any = pytest.importorskip("vllm.model_executor.layers.rotary_embedding")
    assert isinstance(tables._ROPE_DICT, dict)


def test_torch_starts_processes_and_sees_every_operation() -> None:
    pytest.importorskip("torch")
    from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler
    from torch.utils._python_dispatch import TorchDispatchMode

    assert callable(SubprocessHandler._popen)
    assert callable(TorchDispatchMode.__torch_dispatch__)


def test_python_ends_threads_and_exit_handlers_by_functions() -> None:
    import atexit
    import threading

    assert callable(threading._shutdown)  # type: ignore[attr-defined]
    assert callable(atexit._run_exitfuncs)
