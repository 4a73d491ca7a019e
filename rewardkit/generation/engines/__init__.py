"""The engines by name. Each module has `open_engine(engine, settings)`, and is imported when it is used."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

from rewardkit.errors import ConfigError, did_you_mean, require
from rewardkit.extensions import Table
from rewardkit.generation.types import EngineSettings, GenerationEngine, GenerationSettings
from rewardkit.model_folders import why_no_model
from rewardkit.processes import large_imports


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine."""

    module: str
    slice_size: int
    """Number of requests that the engine is given together. A resumed run repeats a slice whole or not at
    all, since the other responses of a batch can change the last bits of a response. 1 where they cannot."""
    packages: tuple[str, ...]
    extra: str
    """Extra of ours that brings these packages."""
    settings: tuple[str, ...]
    """Names of the `EngineSettings` that it uses, of those that not every engine uses."""
    loads_model: bool = True
    """It loads the model that `--model` names, from a folder or the hub; a missing one is an early
    error."""


_LOCAL = ("dtype", "max_model_len", "trust_remote_code")
_VLLM = ("tensor_parallel_size", "gpu_memory_utilization", "max_num_seqs")
ENGINES: Table[EngineEntry] = Table(
    "generation_engines",
    EngineEntry,
    {
        "vllm": EngineEntry("rewardkit.generation.engines.vllm", 512, ("vllm",), "vllm", (*_LOCAL, *_VLLM)),
        "hf": EngineEntry(
            "rewardkit.generation.engines.hf", 32, ("torch", "transformers", "omegaconf"), "train", _LOCAL
        ),
        "endpoint": EngineEntry(
            "rewardkit.generation.engines.endpoint",
            1,
            ("openai",),
            "openai",
            ("api_key_env", "concurrency", "retries"),
            loads_model=False,
        ),
    },
)


def default_engine(url: str | None) -> str:
    """Return `endpoint` for an address, otherwise vLLM where it is installed, otherwise transformers."""
    if url is not None:
        return "endpoint"
    return "vllm" if importlib.util.find_spec("vllm") is not None else "hf"


def require_engine(name: str) -> None:
    """Refuse an engine that cannot be started on this machine, whatever the model.

    Raises:
        ConfigError: no such engine.
        MissingDependencyError: what it needs is not installed.
    """
    if name not in ENGINES:
        near = did_you_mean(name, ENGINES) or f"; expected one of {', '.join(ENGINES)}"
        raise ConfigError(f"unknown engine '{name}'{near}")
    for package in ENGINES[name].packages:
        require(f"the engine '{name}'", package, ENGINES[name].extra)


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> GenerationEngine:
    """Start an engine.

    Raises:
        ConfigError: no such engine, or the model cannot be loaded.
        MissingDependencyError: what it needs is not installed.
    """
    require_engine(engine.name)
    if ENGINES[engine.name].loads_model and (reason := why_no_model(engine.model)):
        raise ConfigError(reason)  # before torch, which takes seconds to import
    with large_imports():  # opening one imports as much again
        module = importlib.import_module(ENGINES[engine.name].module)
        opened: GenerationEngine = module.open_engine(engine, settings)
    return opened
