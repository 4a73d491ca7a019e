"""Answers SandboxFusion's `/run_code` requests with this sandbox. `fusion_client.py` is a client.

Any SandboxFusion client can use this sandbox, for example verl through `sandbox_fusion.url`. The field names
are those of github.com/bytedance/SandboxFusion. The additional key `rewardkit` contains limits and
measurements for which SandboxFusion has no field, and tests that call the program (`fusion_answers.py`).
SandboxFusion ignores this key and never sends it.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from rewardkit.sandbox import fusion_answers
from rewardkit.sandbox.languages import PYTHON, RUNNERS, find_runner, unknown
from rewardkit.sandbox.outcome import DEFAULT_LIMITS, TIMED_OUT, Limits, Outcome, SandboxUnavailable
from rewardkit.sandbox.pool import Pool, SandboxBusy
from rewardkit.sandbox.worker import Job

EXTENSION = "rewardkit"
_MAX_TIMEOUT_S = 600.0
_CORES = 4.0
_MAX_OUTPUT_BYTES = 256 << 20
_MAX_FILES = 256
_MAX_FILE_BYTES = 32 << 20
_MAX_DEPTH = 16
_MAX_NAME = 255
_HOME = re.compile(r"/(?:mnt|tmp)/+")
_FINISHED = {"status": "Finished", "execution_time": None, "return_code": 0, "stdout": "", "stderr": ""}


class RunRequest(NamedTuple):
    """A decoded `/run_code` request."""

    job: Job
    asked: fusion_answers.AnswersRequest | None = None
    """Tests that call the program, or None to run the program only."""
    fetch_files: Sequence[str] = ()
    """Files to return, as named in the request."""


def read_request(body: Mapping[str, Any]) -> RunRequest:
    """Decode a `/run_code` request.

    Args:
        body: Parsed JSON body of the request, with the fields code, language, stdin, run_timeout,
            memory_limit_MB, files and fetch_files.

    Raises:
        ValueError: The program cannot be run, because of an unsupported language or bad files.
    """
    return RunRequest(_job(body), _asked(body), tuple(body.get("fetch_files") or ()))


async def run_code(pool: Pool, body: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program in a `/run_code` request, and return the outcome in SandboxFusion's format.

    If the program cannot be run (because of an unsupported language, bad files or a full queue), the status
    is SandboxError. Clients treat it as a failure of the service rather than of the program.

    Args:
        pool: Pool that runs the program.
        body: Parsed JSON body of the request (see `read_request`).
    """
    try:
        request = read_request(body)
    except ValueError as error:
        return sandbox_error(str(error))
    return await run_request(pool, request)


async def run_request(pool: Pool, request: RunRequest, *, caller: Hashable = None) -> dict[str, Any]:
    """Run the program in a decoded request, and return the outcome as `run_code` does.

    Args:
        pool: Pool that runs the program.
        request: Decoded request.
        caller: Key that identifies the caller, because callers take turns. None means the current task.
    """
    job = request.job
    try:
        if request.asked is not None:
            perform = partial(fusion_answers.perform, job=job, asked=request.asked)
            reply = await pool.awith(perform, caller=caller)
            return _answer("Success", "", None, {**_FINISHED, EXTENSION: msgspec.to_builtins(reply)})
        outcome = await pool.arun(job, caller=caller)
    except (ValueError, SandboxBusy, SandboxUnavailable) as error:
        return sandbox_error(str(error))
    if outcome.status in ("sandbox_error", "cancelled"):
        return sandbox_error(outcome.detail or outcome.status)
    if outcome.status == "compile_error":
        return _answer("Failed", "", {**_result(outcome), "return_code": outcome.exit_code or 1}, None)
    files, message = _fetched(request.fetch_files, outcome)
    return _answer("Success" if outcome.ok else "Failed", message, _compiled(job), _result(outcome), files)


def sandbox_error(message: str) -> dict[str, Any]:
    """Return the answer to a request whose program cannot be run."""
    return _answer("SandboxError", message, None, None)


def _result(outcome: Outcome) -> dict[str, Any]:
    late = outcome.status in TIMED_OUT
    stderr = outcome.stderr.decode("utf-8", "replace")
    if outcome.status not in ("ok", "runtime_error", "compile_error", *TIMED_OUT):
        stderr = f"{stderr}\n{outcome.status}".strip()
    return {
        "status": "TimeLimitExceeded" if late else "Finished",
        "execution_time": outcome.wall_s,
        "return_code": None if late else outcome.exit_code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": stderr,
        EXTENSION: {
            "status": outcome.status,
            "cpu_s": outcome.cpu_s,
            "peak_memory": outcome.peak_memory,
            "detail": outcome.detail,
        },
    }


def _fetched(names: Sequence[str], outcome: Outcome) -> tuple[dict[str, str], str]:
    """Return the requested files that exist, and a message about files that are too large."""
    left = json.loads(outcome.results) if outcome.results else {}
    found = {name: left[_path(name)] for name in names if _path(name) in left}
    large = [name for name, content in found.items() if content is None]
    message = f"these files are too large to be fetched together: {', '.join(large)}" if large else ""
    return {name: content for name, content in found.items() if content is not None}, message


def _compiled(job: Job) -> dict[str, Any] | None:
    """Return the `compile_result` for a compiled language, or None for any other language.

    The result contains no time, because the program may have been built for an earlier request.
    """
    if job.language == PYTHON or not RUNNERS[job.language].is_compiled:
        return None
    return _FINISHED


def _asked(body: Mapping[str, Any]) -> fusion_answers.AnswersRequest | None:
    """Return the tests in a request, or None if the request only runs a program."""
    asked = (body.get(EXTENSION) or {}).get("tests")
    if asked is None:
        return None
    try:
        return msgspec.convert(asked, fusion_answers.AnswersRequest)
    except msgspec.ValidationError as error:
        raise ValueError(f"{EXTENSION}.tests: {error}") from None


def _job(body: Mapping[str, Any]) -> Job:
    extension = body.get(EXTENSION) or {}
    if not isinstance(extension, dict):
        raise ValueError(f"'{EXTENSION}' is {extension!r}; expected an object")
    asked = extension.get("language", body.get("language", PYTHON))
    language = find_runner(asked) if isinstance(asked, str) else None
    if language is None:
        raise ValueError(unknown(str(asked), RUNNERS))
    code = body.get("code")
    stdin = body.get("stdin") or ""
    if not isinstance(code, str) or not isinstance(stdin, str):
        raise ValueError("'code' and 'stdin' must be strings")
    source = code.encode("utf-8", "replace")
    given = stdin.encode("utf-8", "replace")
    prelude = extension.get("prelude") is True
    return Job(
        source,
        given,
        _limits(body, extension),
        prelude=prelude,
        language=language,
        standard=str(extension.get("standard") or ""),
        assertions=extension.get("assertions") is not False,
        files=_files(body.get("files") or {}),
        fetch=_fetch(body.get("fetch_files") or []),
    )


def _files(given: object) -> tuple[tuple[str, bytes], ...]:
    """Return the files in a request. Like SandboxFusion, skip files whose content is null."""
    if not isinstance(given, dict) or len(given) > _MAX_FILES:
        raise ValueError(f"'files' must be an object with at most {_MAX_FILES} files")
    found = {_path(name): _content(name, text) for name, text in given.items() if text is not None}
    size = sum(map(len, found.values()))
    if size > _MAX_FILE_BYTES:
        raise ValueError(f"'files' contains {size} bytes; the limit is {_MAX_FILE_BYTES}")
    return tuple(found.items())


def _content(name: str, text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError(f"'files': the content of {name[:100]!r} must be base64-encoded")
    try:
        return base64.b64decode(text)
    except ValueError as error:
        raise ValueError(f"'files': the content of {name[:100]!r} is not base64: {error}") from None


def _fetch(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > _MAX_FILES or not all(isinstance(n, str) for n in given):
        raise ValueError(f"'fetch_files' must be a list of at most {_MAX_FILES} paths")
    return tuple(map(_path, given))


def _path(name: str) -> str:
    """Convert a path in a request to a relative path in the working directory, which is also /tmp and /mnt.

    Raises:
        ValueError: The path is invalid or leads out of the working directory.
    """
    path = posixpath.normpath(_HOME.sub("", name, count=1))
    parts = path.split("/")
    within = path not in (".", "..") and parts[0] not in ("", "..") and len(parts) <= _MAX_DEPTH
    if not within or "\0" in path or any(len(part.encode()) > _MAX_NAME for part in parts):
        raise ValueError(f"{name[:100]!r} is not a valid file path in the working directory")
    return path


def _limits(body: Mapping[str, Any], extension: Mapping[str, Any]) -> Limits:
    """Return the limits for a request.

    The request itself limits elapsed time. The default CPU limit allows a few cores to be busy throughout.
    """
    timeout_s = _number(body, "run_timeout", 10.0, _MAX_TIMEOUT_S)
    memory = body.get("memory_limit_MB")
    if memory is None or memory == -1:
        memory = DEFAULT_LIMITS.memory_mb
    if not isinstance(memory, int) or memory <= 0:
        raise ValueError(f"memory_limit_MB is {memory!r}; expected a positive integer")
    return Limits(
        cpu_s=_number(extension, "cpu_s", _CORES * timeout_s, _CORES * _MAX_TIMEOUT_S),
        wall_s=_number(extension, "wall_s", timeout_s, _CORES * _MAX_TIMEOUT_S),
        idle_s=_number(extension, "idle_s", timeout_s, _CORES * _MAX_TIMEOUT_S),
        memory_mb=memory,
        output_bytes=int(_number(extension, "output_bytes", DEFAULT_LIMITS.output_bytes, _MAX_OUTPUT_BYTES)),
    )


def _number(fields: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise ValueError(f"{name} is {value!r}; expected a number above 0, at most {most:g}")
    return float(value)


def _answer(
    status: str,
    message: str,
    compiled: dict[str, Any] | None,
    result: dict[str, Any] | None,
    files: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "status": status,
        "message": message,
        "compile_result": compiled,
        "run_result": result,
        "executor_pod_name": None,
        "files": files or {},
    }
