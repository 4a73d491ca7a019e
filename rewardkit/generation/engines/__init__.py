"""The engines by name. Each module has `open_engine(engine, settings)`; none is imported before its use."""

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
    """Requests that are given together, always the same ones: what runs beside a response can change its
    last bits, so a resumed run makes a slice again or not at all. 1 where responses do not depend on each
    other."""


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
    with large_imports():
        module = importlib.import_module(ENGINES[engine.name].module)
    opened: GenerationEngine = module.open_engine(engine, settings)
    return opened
