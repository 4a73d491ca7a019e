"""Neural reward models. A sequence classifier reads the prompt and the response, and its logit is the reward.

This module registers reward models, and scores samples with them. `options` defines the settings for loading,
`encode` converts a sample to tokens, and `classifier` and `vllm_classifier` convert tokens to logits. torch
is imported only when a worker loads a model.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from rewardkit.digests import path_digest
from rewardkit.errors import InputError, OptionsError
from rewardkit.model_folders import model_folder, read_config, why_no_model
from rewardkit.processes import large_imports
from rewardkit.registry import REGISTRY, Origin, Registry, Reward, Running
from rewardkit.rewards.model.encode import Encoded, ModelEncoder, UnreadableError
from rewardkit.rewards.model.heads import find_head
from rewardkit.rewards.model.options import ModelOptions as ModelOptions
from rewardkit.types import Sample, Score, failure

VERSION = 3
"""Version of the code that computes scores.

This version is part of a reward's identity. `Score.scorer` contains the version of the weights if they are on
this machine.
"""
TIMEOUT_S = 600.0
"""Time limit for one chunk of at most `rewardkit.scoring.jobs.MODEL_CHUNK` samples, in seconds."""


class Classifier(Protocol):
    """A loaded model with its encoder."""

    encoder: ModelEncoder

    def logits(self, ids: Sequence[Sequence[int]]) -> list[list[float] | str]:
        """Return the logits for each sequence of token ids, or the reason why there are none."""
        ...


def register_reward_model(
    path: str | Path,
    data_sources: Iterable[str],
    *,
    name: str | None = None,
    timeout_s: float = TIMEOUT_S,
    registry: Registry = REGISTRY,
    **options: Any,
) -> Reward:
    """Register a sequence-classification model as the reward of `data_sources` (exact names or globs).

    Args:
        path: Folder or Hugging Face hub id. A folder is checked immediately. The weights are loaded with the
            first sample or by `Scorer.warm_up`.
        name: Name of the reward. The default is the name of the folder, or the hub id.
        timeout_s: Time limit for one chunk of samples. If it is exceeded, the model's process is killed.
        options: Fields of `ModelOptions`.

    Raises:
        InputError: The folder does not exist, or its files contain no head, or several heads.
        OptionsError: An option does not exist or is invalid, or the name is taken.

    Example:
        >>> register_reward_model("out/rm", ["Dahoas/*"], max_length=2048)  # doctest: +SKIP
    """
    check_path(str(path), str(options.get("head", "")))
    folder = Path(path)
    sources = tuple(data_sources)
    name = name or (folder.resolve().name if folder.is_dir() else str(path))
    presets = {**options, "path": str(folder.resolve()) if folder.is_dir() else str(path)}
    holder = registry.by_name(name)
    if holder is not None and holder.presets.get("path") != presets["path"]:
        raise OptionsError(f"a reward named '{name}' is already registered; choose another name=")
    if not sources:
        raise OptionsError(f"the reward model '{name}' needs a data source to score, such as 'Dahoas/*'")
    made = Reward(
        name=name,
        version=_weights_version(str(path)) or VERSION,
        target=score,
        origin=Origin(settings={"version": VERSION}),
        data_sources=sources,
        parts=("truncated",),
        options_type=ModelOptions,
        presets=presets,
        reads=("prompt",),
        summary=f"Logit of the reward model {name} for the prompt and response",
        running=Running(
            runs="model",
            timeout_s=timeout_s,
            batch=True,
            load=load,
            needs=_NEEDS.get(str(options.get("backend")), _NEEDS["transformers"]),
        ),
    )
    made.make_options({})
    return registry.register(made, replace_existing=True)


_NEEDS = {"vllm": {"vllm": "vllm"}, "transformers": {"torch": "model", "transformers": "model"}}


def score(samples: Sequence[Sample], options: ModelOptions) -> list[Score]:
    """Score samples with the model. All readable samples are scored together, in batches."""
    model = load(options)
    encoded = [_encode(sample, model.encoder) for sample in samples]
    readable = [one for one in encoded if isinstance(one, Encoded)]
    logits = iter(model.logits([one.ids for one in readable]))
    return [_to_score(one, next(logits)) if isinstance(one, Encoded) else one for one in encoded]


@functools.cache
def load(options: ModelOptions) -> Classifier:
    """Load a model, once per process.

    Raises:
        InputError: The model cannot be loaded, or is not a reward model.
        MissingDependencyError: A package that the backend needs (torch, transformers or vllm) is not
            installed.
    """
    with large_imports():  # The block also covers modules that the libraries import while they open a model.
        if options.backend == "vllm":
            from rewardkit.rewards.model.vllm_classifier import VllmClassifier

            return VllmClassifier(options)
        from rewardkit.rewards.model.classifier import TransformersClassifier

        return TransformersClassifier(options)


def reward_of_logits(logits: Sequence[float]) -> float:
    """Return the only logit or, for two labels, the log-odds of the second (good) label over the first."""
    return logits[0] if len(logits) == 1 else logits[1] - logits[0]


def _encode(sample: Sample, encoder: ModelEncoder) -> Encoded | Score:
    try:
        return encoder.encode(sample.prompt, sample.response)
    except UnreadableError as error:
        return failure("invalid", str(error))


def _to_score(encoded: Encoded, logits: list[float] | str) -> Score:
    if isinstance(logits, str):
        return failure("error", logits)
    parts = {"truncated": float(encoded.truncated)}
    return Score(reward_of_logits(logits), parts=parts, detail=encoded.note or None)


def check_path(path: str, head: str = "") -> None:
    """Check, without importing torch, that a model exists and that its files contain a head.

    Args:
        path: Folder of the model, or its name on the hub.
        head: Name of the head, as in `ModelOptions`.

    Raises:
        InputError: The model does not exist, or its files contain no head, or several heads.
    """
    if reason := why_no_model(path):
        raise InputError(f"cannot load a reward model: {reason}")
    if _weights_folder(path) is None and not Path(path).is_dir():
        return  # The files are checked after they are downloaded.
    architecture = str(((read_config(path) or {}).get("architectures") or ["no architecture"])[0])
    if "TokenClassification" in architecture and not head:
        raise InputError(
            f"{path} ({architecture}) scores every token, for example the steps of a response; if its output "
            "at the last token is the score of the response, name the head with the option head=score"
        )
    if find_head(path, head) is None and "SequenceClassification" not in architecture:
        raise InputError(f"{path} has no score head ({architecture}); train it with `rewardkit rm`")


def _weights_version(path: str) -> str | None:
    """Return the first digits of the digest of a model's folder, or None if it is not on this machine."""
    folder = _weights_folder(path)
    return path_digest(folder).removeprefix("sha256:")[:8] if folder else None


def _weights_folder(path: str) -> Path | None:
    """Return a model's folder if it contains weights. The hub's cache may contain only config.json."""
    folder = model_folder(path)
    suffixes = {".safetensors", ".bin"}
    return folder if folder and any(file.suffix in suffixes for file in folder.iterdir()) else None
