"""The engines by name. Each module has `open_engine(engine, settings)`, and is imported when it is used."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.generation.types import EngineSettings, GenerationEngine, GenerationSettings
from rewardkit.model_folders import why_no_model
from rewardkit.processes import large_imports


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine."""

    module: str
    slice_size: int
    """How many requests the engine is given together. A resumed run repeats a slice whole or not at all,
    since the other responses of a batch can change the last bits of a response. 1 where they cannot."""


ENGINES = {
    "vllm": EngineEntry("rewardkit.generation.engines.vllm", 512),
    "hf": EngineEntry("rewardkit.generation.engines.hf", 32),
    "endpoint": EngineEntry("rewardkit.generation.engines.endpoint", 1),
}


def default_engine(url: str | None) -> str:
    """Return `endpoint` for an address, otherwise vLLM where it is installed, otherwise transformers."""
    if url is not None:
        return "endpoint"
    return "vllm" if importlib.util.find_spec("vllm") is not None else "hf"


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> GenerationEngine:
    """Start an engine.

    Raises:
        ConfigError: no such engine, or the model cannot be loaded.
        MissingDependencyError: what it needs is not installed.
    """
    if engine.name not in ENGINES:
        near = did_you_mean(engine.name, ENGINES) or f"; there are: {', '.join(ENGINES)}"
        raise ConfigError(f"no engine '{engine.name}'{near}")
    if engine.name != "endpoint" and (reason := why_no_model(engine.model)):
        raise ConfigError(reason)  # before torch, which takes seconds to import
    with large_imports():  # opening one imports as much again
        module = importlib.import_module(ENGINES[engine.name].module)
        opened: GenerationEngine = module.open_engine(engine, settings)
    return opened
