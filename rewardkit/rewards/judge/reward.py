"""A generative judge: a language model behind an OpenAI-compatible endpoint says how good a response is.

Here: how a YAML file becomes a reward, and the reward itself. `options` has what may stand in the file,
`verdict` writes the question and reads the answer; `rewardkit.model_api.client` asks the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import REGISTRY, Registry, Reward
from rewardkit.rewards.judge.options import JudgeOptions as JudgeOptions
from rewardkit.types import Sample, Score, failure

_PROCESSES = 8
"""Workers that wait for the judge's answers; each has its share of the concurrency."""


class JudgeFile(msgspec.Struct):
    """What the YAML file holds besides the fields of `JudgeOptions`."""

    name: str = ""
    data_sources: list[str] = []
    timeout_s: float = 180.0
    """Deadline for one sample, all attempts together."""
    concurrency: int = 32
    """Requests in flight at most, for one Scorer."""


def register_judge(
    path: str | Path, data_sources: Iterable[str] = (), *, registry: Registry = REGISTRY
) -> Reward:
    """Make the judge of a YAML file the reward of `data_sources` or, if there are none, of the file's own.

    Raises:
        InputError: the file cannot be read, or is no YAML mapping.
        OptionsError: a key that does not exist, a value that does not fit, no data source, or no key in the
            environment.
        MissingDependencyError: the package `openai` is not installed.
    """
    from rewardkit.model_api.client import require_openai

    require_openai("a judge")
    values = _read(Path(path))
    if any(isinstance(word, bool) for word in values.get("verdicts") or ()):
        raise OptionsError(
            f"{path}: verdicts: YAML takes a bare yes, no, on or off for true or false; write it in quotes, "
            '"yes"'
        )
    own = {key: values.pop(key) for key in JudgeFile.__struct_fields__ if key in values}
    try:
        about = msgspec.convert(own, JudgeFile)
    except msgspec.ValidationError as error:
        raise OptionsError(f"{path}: {error}") from None
    sources = tuple(data_sources) or tuple(about.data_sources)
    name = about.name or Path(path).stem
    if not sources:
        raise OptionsError(f"the judge '{name}' needs a data source: --for SOURCE, or data_sources in {path}")
    if about.concurrency < 1:
        raise OptionsError(f"{path}: concurrency must be at least 1, found {about.concurrency}")
    processes = min(_PROCESSES, about.concurrency)
    made = Reward(
        name=name,
        version=2,
        target=score,
        data_sources=sources,
        runs="process",
        timeout_s=about.timeout_s,
        parts=("verdict",),
        processes=processes,
        chunk=about.concurrency // processes,
        options_type=JudgeOptions,
        presets=values,
        load=load,
        reads=("prompt",),
        summary=f"The verdict of {values.get('model', 'a language model')} on the response",
    )
    options: JudgeOptions = made.make_options({})
    if options.api_key_env and not os.environ.get(options.api_key_env):
        raise OptionsError(f"the judge '{name}' takes its key from {options.api_key_env}, which is not set")
    return registry.register(made, replace_existing=True)


def load(options: JudgeOptions) -> None:
    """Import the client, which would take up a second of the first samples' deadline."""
    import openai  # noqa: F401

    import rewardkit.model_api.client  # noqa: F401


async def score(sample: Sample, options: JudgeOptions) -> Score:
    """Ask the judge, and once more where its answer has no verdict. What then fails is an `error`."""
    from rewardkit.model_api.client import Endpoint, EndpointError, complete_text
    from rewardkit.rewards.judge.verdict import NoVerdictError, ask, asked_again, read_verdict

    question = ask(sample, options)
    judge = Endpoint(
        options.url,
        options.model,
        options.api_key_env,
        options.request_timeout_s,
        options.retries,
        who="the judge's server",
    )

    async def answer_to(messages: list[dict[str, str]]) -> str:
        return await complete_text(
            judge,
            messages,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            extra_body=options.extra_body,
        )

    try:
        answer = await answer_to(question.messages)
        try:
            verdict = read_verdict(answer, question.marker, options)
        except NoVerdictError as error:
            again = await answer_to(asked_again(question, answer, error))
            verdict = read_verdict(again, question.marker, options)
    except (EndpointError, NoVerdictError) as error:
        return failure("error", str(error))
    return Score(
        verdict.score,
        extracted=verdict.text,
        parts={"verdict": verdict.value},
        detail=verdict.reason or None,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise InputError(f"cannot read the judge's file {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"{path} is not a YAML mapping of a judge's options: {reason}") from None
    return values
