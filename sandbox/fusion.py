"""SandboxFusion's `/run_code`, both ways: a client for such a service, and the route for ours.

With the route, whatever speaks to SandboxFusion (verl's `sandbox_fusion.url`, say) can use this sandbox;
with the client, `run` uses theirs. Field names are those of github.com/bytedance/SandboxFusion.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from rewardkit.sandbox.outcome import DEFAULT_LIMITS, Limits, Outcome, SandboxUnavailable, Status
from rewardkit.sandbox.pool import Pool, SandboxBusy
from rewardkit.sandbox.worker import Job

_MAX_TIMEOUT_S = 600.0
_RUN_STATUS = {"cpu_timeout": "TimeLimitExceeded", "wall_timeout": "TimeLimitExceeded"}


async def run_code(pool: Pool, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one `/run_code` request: run its Python program and describe the outcome in their terms.

    A request that cannot be run (another language, files, a full queue) is answered as SandboxError,
    which clients take for a failure of the service and not of the program.

    Args:
        pool: Where it runs.
        body: The JSON of the request: code, language, stdin, run_timeout, memory_limit_MB.
    """
    try:
        job = _job(body)
        outcome = await pool.arun(job)
    except (ValueError, SandboxBusy) as error:
        return _answer("SandboxError", str(error), None)
    if outcome.status in ("sandbox_error", "cancelled"):
        return _answer("SandboxError", outcome.detail or outcome.status, None)
    result = {
        "status": _RUN_STATUS.get(outcome.status, "Finished"),
        "execution_time": outcome.wall_s,
        "return_code": None if outcome.status in _RUN_STATUS else outcome.exit_code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": outcome.stderr.decode("utf-8", "replace"),
    }
    if outcome.status not in ("ok", "runtime_error", *_RUN_STATUS):
        result["stderr"] = f"{result['stderr']}\n{outcome.status}".strip()
    return _answer("Success" if outcome.ok else "Failed", "", result)


def _job(body: Mapping[str, Any]) -> Job:
    language = body.get("language", "python")
    if language not in ("python", "python3"):
        raise ValueError(f"language '{language}' is not run here; there is python")
    if body.get("files") or body.get("fetch_files"):
        raise ValueError("files are not supported here; give the program its input on stdin")
    code, stdin = body.get("code"), body.get("stdin") or ""
    if not isinstance(code, str) or not isinstance(stdin, str):
        raise ValueError("expected 'code' and 'stdin' as text")
    timeout, memory = body.get("run_timeout", 10), body.get("memory_limit_MB")
    if not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT_S:
        raise ValueError(f"run_timeout is {timeout!r}; expected seconds, at most {_MAX_TIMEOUT_S:g}")
    if memory is None or memory == -1:
        memory = DEFAULT_LIMITS.memory_mb
    if not isinstance(memory, int) or memory <= 0:
        raise ValueError(f"memory_limit_MB is {memory!r}; expected a positive integer")
    limits = Limits(cpu_s=float(timeout), memory_mb=memory)
    return Job(code.encode("utf-8", "replace"), stdin.encode("utf-8", "replace"), limits)


def _answer(status: str, message: str, result: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "status": status,
        "message": message,
        "compile_result": None,
        "run_result": result,
        "executor_pod_name": None,
        "files": {},
    }


class FusionClient:
    """Runs programs on a SandboxFusion service. Its isolation and its limits are that service's own.

    Args:
        url: The service's `/run_code`.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def run(
        self,
        program: str | bytes,
        stdin: str | bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        *,
        language: str = "python",
    ) -> Outcome:
        """Run a program there. A failure of the service is a `sandbox_error`, never a wrong answer.

        Raises:
            SandboxUnavailable: the service cannot be reached.
        """
        body = {
            "code": _text(program),
            "stdin": _text(stdin),
            "language": language,
            "run_timeout": limits.cpu_s,
            "memory_limit_MB": limits.memory_mb,
        }
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=limits.wall + 30) as response:
                return _outcome(json.load(response))
        except urllib.error.HTTPError as error:
            return Outcome("sandbox_error", detail=f"{self.url} answered HTTP {error.code}")
        except ValueError as error:
            return Outcome("sandbox_error", detail=f"{self.url} answered no JSON: {error}")
        except OSError as error:
            raise SandboxUnavailable(f"no sandbox service at {self.url}: {error}; is it running?") from None


def _outcome(answer: dict[str, Any]) -> Outcome:
    result = answer.get("run_result")
    compiled = answer.get("compile_result") or {}
    if not isinstance(result, dict):
        if compiled.get("status") == "Finished" and compiled.get("return_code"):
            error = str(compiled.get("stderr") or "")
            return Outcome("runtime_error", b"", error.encode(), exit_code=compiled["return_code"])
        return Outcome("sandbox_error", detail=str(answer.get("message") or answer.get("status"))[:300])
    code = result.get("return_code")
    status: Status = "ok" if code == 0 else "runtime_error"
    if result.get("status") == "TimeLimitExceeded":
        status = "wall_timeout"
    elif result.get("status") != "Finished":
        return Outcome("sandbox_error", detail=f"run_result.status is {result.get('status')!r}")
    return Outcome(
        status,
        str(result.get("stdout") or "").encode("utf-8", "replace"),
        str(result.get("stderr") or "").encode("utf-8", "replace"),
        exit_code=code,
        wall_s=float(result.get("execution_time") or 0.0),
    )


def _text(data: str | bytes) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
