"""Wraps third-party Python rewards as `Reward` objects that run in hosts.

A function is inspected once, in a temporary host. Each worker then starts its own host, which runs the source
code that the temporary host read.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit import processes
from rewardkit.digests import digest
from rewardkit.errors import InputError, did_you_mean
from rewardkit.foreign.client import DescribedReward, HostRequest, HostRow, HostScore, RewardHost
from rewardkit.foreign.spec import KINDS, ForeignSpec
from rewardkit.http_addresses import recorded_options
from rewardkit.messages import plain_prompt, prompt_text
from rewardkit.registry import Origin, Reward, Running
from rewardkit.reward_options import NoOptions
from rewardkit.types import Sample

_FILES = (".py", ".yaml", ".yml")

_seen: dict[str, DescribedReward] = {}
"""Descriptions of inspected targets, by request and working folder."""


def python_reward(spec: ForeignSpec) -> Reward:
    """Create the Reward for a Python spec.

    Raises:
        InputError: The target cannot be imported, has no such function, or has parameters that do not show
            how to call it.
    """
    described = look_at(spec)
    request = replace(_request(spec), module=described.module, sources=described.sources)
    hosted = HostedReward(request, structured=spec.ground_truth == "json")
    group = described.group or (spec.batch == "group" and described.lists)
    alone = hosted.ascore if described.is_async else hosted.score
    return Reward(
        name=spec.name or _name(spec, described),
        version=version_of(spec, described),
        target=hosted.score_group if group else alone,
        data_sources=spec.data_sources,
        options_type=NoOptions,
        summary=described.summary,
        running=Running(
            runs="process",
            timeout_s=spec.timeout_s,
            batch="group" if group else False,
            each=None if group or described.is_async else hosted.score_each,
            load=hosted.load,
            on_exception=spec.on_exception,
        ),
        origin=Origin(
            source=source_of(described),
            settings={
                "kind": described.kind,
                "columns": dict(spec.columns),
                **recorded_options(spec.options, _texts_of(described)),
            },
        ),
    )


def look_at(spec: ForeignSpec) -> DescribedReward:
    """Load the target of a spec in a temporary host and return the description of the target.

    Raises:
        InputError: The target cannot be imported, has no such function, or has parameters that do not show
            how to call it.
    """
    request = _request(spec)
    key = json.dumps([request.message(), request.python, os.getcwd()], sort_keys=True, default=str)
    if key not in _seen:
        try:
            host = RewardHost(request, limit_s=processes.load_timeout_s())
        except InputError as error:
            # A misspelt kind, such as `verifers:env`, is parsed as a module and a function.
            meant = did_you_mean(spec.target.partition(":")[0], () if spec.kind else KINDS)
            raise InputError(f"{error}{meant}") from None
        host.close()
        _seen[key] = host.described
    return _seen[key]


def version_of(spec: ForeignSpec, described: DescribedReward) -> int:
    """Return a checksum of the sources, the distribution's version, the options and the call settings."""
    name = spec.target.rpartition("/")[2]
    options = recorded_options(spec.options, _texts_of(described))
    how = [described.kind, name, options, spec.columns, spec.ground_truth, spec.batch]
    made_of = json.dumps([source_of(described), how], sort_keys=True, default=str)
    return zlib.crc32(made_of.encode())


def _texts_of(described: DescribedReward) -> list[str]:
    return [text for _, text in described.sources.values()]


def source_of(described: DescribedReward) -> dict[str, str]:
    """Return the digest of each source file by relative path, and the version of the distribution by name."""
    name, _, version = described.distribution.partition(" ")
    installed = {name: version} if name else {}
    if not described.sources:
        return installed
    texts = dict(described.sources.values())
    root = os.path.commonpath([os.path.dirname(path) for path in texts])
    named = {os.path.relpath(path, root): text for path, text in texts.items()}
    digests = {name: digest(named[name].encode("utf-8", "surrogateescape")) for name in sorted(named)}
    return {**installed, **digests}


class HostedReward:
    """Reward that runs in a host. The worker that scores calls `load` to start the host."""

    def __init__(self, request: HostRequest, *, structured: bool) -> None:
        self.request = request
        self.structured = structured
        """True if a ground truth that is a JSON object or array is decoded before the function is called."""
        self._host: RewardHost | None = None

    def load(self, options: Any) -> None:
        """Start the host.

        Raises:
            InputError: The host cannot be started, or cannot load the reward.
        """
        self._host = RewardHost(self.request)

    def score(self, sample: Sample, options: NoOptions) -> HostScore:
        """Return the score for a sample."""
        return self._loaded().ask([self._row(sample)])[0]

    def score_each(self, samples: Sequence[Sample], options: NoOptions) -> Iterator[list[HostScore]]:
        """Yield the scores for samples, in order, as they arrive. Later samples are sent in advance."""
        return self._loaded().ask_each([self._row(sample)] for sample in samples)

    async def ascore(self, sample: Sample, options: NoOptions) -> HostScore:
        """Return the score for a sample from an `async` function. Many calls may run concurrently."""
        return (await self._loaded().ask_at_once([self._row(sample)]))[0]

    def score_group(self, samples: Sequence[Sample], options: NoOptions) -> list[HostScore]:
        """Return the scores for samples that are passed to the function in a single call."""
        return self._loaded().ask([self._row(sample) for sample in samples])

    def _loaded(self) -> RewardHost:
        assert self._host is not None
        return self._host

    def _row(self, sample: Sample) -> HostRow:
        return {
            "data_source": sample.data_source,
            "response": sample.response,
            "ground_truth": _structure(sample.ground_truth) if self.structured else sample.ground_truth,
            "prompt": plain_prompt(sample.prompt),
            "prompt_text": prompt_text(sample.prompt),
            "extra_info": sample.extra_info,
        }


def _structure(text: str) -> Any:
    """Decode a ground truth that is a JSON object or array. Return any other ground truth unchanged."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _request(spec: ForeignSpec) -> HostRequest:
    path, colon, name = spec.target.partition(":")
    target = f"{Path(path).absolute()}{colon}{name}" if path.endswith(_FILES) else spec.target
    return HostRequest(target, spec.kind, spec.options, spec.columns, python=spec.python, name=spec.name)


def _name(spec: ForeignSpec, described: DescribedReward) -> str:
    of_a_library = spec.kind and ":" not in spec.target and not spec.target.endswith(_FILES)
    return f"{spec.kind}:{spec.target}" if of_a_library else described.name
