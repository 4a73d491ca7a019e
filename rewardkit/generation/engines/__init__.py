"""Table of engines. An engine's module defines `open_engine(engine, settings)` and is imported on demand."""

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
    """Description of an engine."""

    module: str
    slice_size: int
    """Number of requests that are passed to the engine together, or 1 if responses are independent.

    A resumed run repeats either a whole slice or none of it, because the last bits of a response can depend
    on the other responses in the batch.
    """
    packages: tuple[str, ...]
    extra: str
    """Name of the extra that installs these packages, as in `rewardkit[NAME]`."""
    settings: tuple[str, ...]
    """Engine-specific settings (fields of `EngineSettings`) that this engine uses."""
    loads_model: bool = True
    """True if the engine loads the model from a folder or the hub. A missing model can then be reported
    before the engine is imported."""
    vision: bool = False
    """True if the engine accepts messages with pictures (see `rewardkit.pictures.with_pictures`)."""


_TORCH = ("torch", "transformers", "omegaconf")
_LOCAL = ("dtype", "max_model_len", "trust_remote_code")
_VLLM = (*_LOCAL, "tensor_parallel_size", "gpu_memory_utilization", "max_num_seqs")
ENGINES: Table[EngineEntry] = Table(
    "generation_engines",
    EngineEntry,
    {
        "vllm": EngineEntry("rewardkit.generation.engines.vllm", 512, ("vllm",), "vllm", _VLLM, vision=True),
        "hf": EngineEntry("rewardkit.generation.engines.hf", 32, _TORCH, "train", _LOCAL, vision=True),
        "endpoint": EngineEntry(
            "rewardkit.generation.engines.endpoint",
            1,
            ("openai",),
            "openai",
            ("api_key_env", "concurrency", "retries"),
            loads_model=False,
            vision=True,
        ),
    },
)


def default_engine(url: str | None) -> str:
    """Return `endpoint` if a URL is given, otherwise `vllm` if vLLM is installed, otherwise `hf`."""
    if url is not None:
        return "endpoint"
    return "vllm" if importlib.util.find_spec("vllm") is not None else "hf"


def require_engine(name: str) -> None:
    """Check that an engine exists and that its packages are installed.

    Raises:
        ConfigError: The engine is unknown.
        MissingDependencyError: A package that the engine needs is not installed.
    """
    if name not in ENGINES:
        near = did_you_mean(name, ENGINES) or f"; expected one of {', '.join(ENGINES)}"
        raise ConfigError(f"unknown engine '{name}'{near}")
    for package in ENGINES[name].packages:
        require(f"the engine '{name}'", package, ENGINES[name].extra)


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> GenerationEngine:
    """Start an engine.

    Raises:
        ConfigError: The engine is unknown, or the model cannot be loaded.
        MissingDependencyError: A package that the engine needs is not installed.
    """
    require_engine(engine.name)
    if ENGINES[engine.name].loads_model and (reason := why_no_model(engine.model)):
        raise ConfigError(reason)  # before importing torch, which takes seconds
    with large_imports():  # opening an engine imports more large modules
        module = importlib.import_module(ENGINES[engine.name].module)
        opened: GenerationEngine = module.open_engine(engine, settings)
    return opened
