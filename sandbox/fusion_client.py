"""Runs programs on a `/run_code` service, which is SandboxFusion or `rewardkit serve --run-code`.

Use this module on hosts that cannot isolate programs themselves. A program's expected output never leaves
this host. Assertions, which contain expected values, are sent only to rewardkit's own service
(`fusion_answers.py`). The server is in `fusion.py`.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import msgspec

from rewardkit.http_addresses import Address, address_of
from rewardkit.http_retry import RETRIED
from rewardkit.sandbox import fusion_answers, fusion_calls
from rewardkit.sandbox.answers import Answer, SolutionBudget, explain, no_answer
from rewardkit.sandbox.fusion import EXTENSION
from rewardkit.sandbox.languages import PYTHON
from rewardkit.sandbox.outcome import DEFAULT_LIMITS, Limits, Outcome, OutcomeStatus, SandboxUnavailable

_NAMES = {"javascript": "nodejs"}
"""SandboxFusion's names for languages that rewardkit names differently."""

_ATTEMPTS = 4
_PAUSE_S = 0.5
"""Pause before the second attempt, in seconds. The pause doubles with each further attempt."""

_ELAPSED_FACTOR = 3.0
"""Assumed ratio of elapsed time to CPU time, for services that measure only elapsed time."""
_ELAPSED_S = 5.0
"""Elapsed time to add to the scaled CPU time, in seconds."""
_LONGEST_S = 1500.0
"""Maximum elapsed time to allow for all tests in a request, in seconds."""
_PATIENCE_S = 60.0
"""Time that the service may take beyond the run's own limit, in seconds."""
_COMPILE_S = 60.0
"""Elapsed time that a compiler on the service may take, in seconds. SandboxFusion's default is 10."""


class FusionClient:
    """Thread-safe client that runs programs on a `/run_code` service, which isolates them.

    rewardkit's own service applies the limits exactly. Other services measure elapsed time, so a program that
    exceeds its limit cannot be distinguished from a very busy service.

    Args:
        url: URL of the service, with or without `/run_code`. A user name and password in the URL are sent as
            credentials. For rewardkit's own service, the password is the token.
    """

    def __init__(self, url: str) -> None:
        try:
            given = address_of(url)
        except ValueError as error:
            raise SandboxUnavailable(str(error)) from None
        self.url = Address(given.request_url("/run_code", without="/run_code"))
        self.level = f"of {self.url}"
        self._parts = urllib.parse.urlsplit(self.url.given)
        self._is_ours: bool | None = None
        self._makes_calls = False
        self._headers = {"Content-Type": "application/json"}
        if given.authorization is not None:
            self._headers["Authorization"] = given.authorization

    def run(
        self,
        program: str | bytes,
        stdin: str | bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        *,
        prelude: bool = False,
        language: str = PYTHON,
        standard: str = "",
    ) -> Outcome:
        """Run a program on the service. If the service fails, the status is `sandbox_error`.

        Args:
            program: Source of the program.
            stdin: The whole standard input.
            limits: Limits for the run.
            prelude: True to let a Python program use names from common modules without importing them. Only
                rewardkit's own service supports this.
            language: Name of the program's language in rewardkit.
            standard: Standard of C++ to compile for. Only rewardkit's own service supports this.

        Raises:
            SandboxUnavailable: The service cannot be reached.
        """
        body = self._body(program, stdin, limits, prelude=prelude, language=language, standard=standard)
        answer = self._ask(program, body, limits.wall)
        return answer if isinstance(answer, Outcome) else _outcome(answer)

    def _body(
        self, program: str | bytes, stdin: str | bytes, limits: Limits, *, language: str = PYTHON, **more: Any
    ) -> bytes:
        body = {
            "code": _text(program),
            "stdin": _text(stdin),
            "language": _NAMES.get(language, language),
            "run_timeout": limits.cpu_s * _ELAPSED_FACTOR + _ELAPSED_S,
            "compile_timeout": _COMPILE_S,
            "memory_limit_MB": limits.memory_mb,
            EXTENSION: {
                "cpu_s": limits.cpu_s,
                "wall_s": limits.wall,
                "idle_s": limits.idle_s or limits.wall,
                "output_bytes": limits.output_bytes,
                "assertions": False,
                "language": language,
                **more,
            },
        }
        return json.dumps(body).encode()

    def call(
        self,
        program: str | bytes,
        function: str,
        cases: Sequence[Sequence[Any]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        keywords: Sequence[Mapping[str, Any]] | None = None,
        budget: SolutionBudget | None = None,
        stop: bool = False,
    ) -> list[Answer]:
        """Call a function of a Python program with the arguments of each case, like `Sandbox.call`.

        On services other than rewardkit's, each call is a separate run.

        Raises:
            SandboxUnavailable: The service cannot be reached.
        """
        budget = budget or SolutionBudget()
        if self.why_not_ours() is None:
            call = fusion_answers.call_request(function, cases, keywords, stop)
            return self._ask_tests(program, limits, budget, call=call)
        if (unproved := self._prove_calls()) is not None:
            return [unproved]
        whole = fusion_calls.harness(_text(program))
        answers: list[Answer] = []
        for i, case in enumerate(cases):
            if budget.is_spent:
                break
            mark = secrets.token_hex(16)
            asked = fusion_calls.request(function, case, keywords[i] if keywords else {}, mark)
            outcome = self.run(whole, asked, budget.within(limits))
            answers.append(fusion_calls.answer(outcome, mark))
            failed = answers[-1].status not in ("ok", "sandbox_error")
            budget.spend(outcome, failed=failed)
            if answers[-1].status == "sandbox_error" or (stop and failed):
                break
        return answers

    def check(
        self,
        program: str | bytes,
        setup: str,
        tests: Sequence[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        before: Sequence[str] | None = None,
        budget: SolutionBudget | None = None,
        stop: bool = False,
        language: str = PYTHON,
    ) -> list[Answer]:
        """Run assertions on the service, in a separate process from the program, like `Sandbox.check`.

        Raises:
            SandboxUnavailable: The service cannot be reached or is not rewardkit's own.
        """
        if (why := self.why_not_ours()) is not None:
            raise SandboxUnavailable(why)
        steps = list(before or [""] * len(tests))
        asked = fusion_answers.CheckRequest(setup, list(tests), steps, stop)
        return self._ask_tests(program, limits, budget or SolutionBudget(), language, check=asked)

    def _ask_tests(
        self,
        program: str | bytes,
        limits: Limits,
        budget: SolutionBudget,
        language: str = PYTHON,
        **asked: Any,
    ) -> list[Answer]:
        left = fusion_answers.left(budget)
        tests = msgspec.to_builtins(fusion_answers.AnswersRequest(budget=left, **asked))
        body = self._body(program, "", limits, language=language, tests=tests)
        answer = self._ask(program, body, min(left.ends_s, _LONGEST_S))
        if not isinstance(answer, Outcome):
            try:
                reply = msgspec.convert(answer["run_result"][EXTENSION], fusion_answers.AnswersReply)
                return reply.settle(budget)
            except (msgspec.ValidationError, KeyError, TypeError):
                answer = _outcome(answer)
        return [no_answer(replace(answer, status="sandbox_error") if answer.ok else answer)]

    def why_not_ours(self) -> str | None:
        """Return None if the service is rewardkit's own, or else an error message.

        Only rewardkit's own service hides expected values from the program.

        Raises:
            SandboxUnavailable: The service cannot be reached or fails.
        """
        if self._is_ours is None:
            asked = fusion_answers.AnswersRequest(budget=fusion_answers.left(SolutionBudget()))
            tests = msgspec.to_builtins(asked)
            answer = self._ask("", self._body("", "", DEFAULT_LIMITS, tests=tests), _LONGEST_S)
            outcome = answer if isinstance(answer, Outcome) else _outcome(answer)
            if outcome.status == "sandbox_error" or isinstance(answer, Outcome):
                raise SandboxUnavailable(f"the sandbox failed: {outcome.detail}")
            self._is_ours = "answers" in (answer["run_result"].get(EXTENSION) or {})
        return (
            None
            if self._is_ours
            else (f"{self.url} is not a sandbox server; start one with 'rewardkit serve --run-code'")
        )

    def _prove_calls(self) -> Answer | None:
        """Return None if a trial call succeeds on the service, or else the answer that describes the failure.

        The call fails, for example, if the service's Python is too old.
        """
        if self._makes_calls:
            return None
        asked = fusion_calls.request("f", [], {}, "mark")
        outcome = self.run(fusion_calls.harness("def f(): return 42"), asked)
        self._makes_calls = fusion_calls.answer(outcome, "mark").value == b'{"value":42}'
        why = f"{self.url} cannot call functions; it needs Python 3.9 or newer: {explain(outcome)}"
        return None if self._makes_calls else Answer("sandbox_error", error=why)

    def _ask(self, program: str | bytes, body: bytes, wall_s: float) -> dict[str, Any] | Outcome:
        """Send a request, and retry it if the service is busy or unreachable.

        A request that the service rejects because the program is too large counts as a failure of the
        program.
        """
        failed: Outcome | SandboxUnavailable = Outcome("sandbox_error")
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_S * 2 ** (attempt - 1))
            try:
                status, answer = self._exchange(body, wall_s + _PATIENCE_S)
            except (OSError, http.client.HTTPException) as error:
                why = self.url.unsaid(str(error))
                failed = SandboxUnavailable(
                    f"no sandbox server at {self.url}: {why}; start one with 'rewardkit serve --run-code'"
                )
                continue
            if status == http.client.OK:
                return self._read(answer)
            own = status == http.client.REQUEST_ENTITY_TOO_LARGE and 2 * len(program) > len(body)
            ended: OutcomeStatus = "memory_limit" if own else "sandbox_error"
            failed = Outcome(ended, detail=f"{self.url} answered HTTP {status}")
            if status not in RETRIED:
                break
        if isinstance(failed, SandboxUnavailable):
            raise failed
        return failed

    def _exchange(self, body: bytes, timeout_s: float) -> tuple[int, bytes]:
        """Send a request over a new connection, and return the status and body of the response."""
        host = self._parts.hostname or ""
        connection: http.client.HTTPConnection
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                host, self._parts.port, timeout=timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(host, self._parts.port, timeout=timeout_s)
        path = urllib.parse.urlunsplit(("", "", self._parts.path, self._parts.query, ""))
        try:
            connection.request("POST", path, body, self._headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _read(self, answer: bytes) -> dict[str, Any] | Outcome:
        try:
            found = json.loads(answer)
        except ValueError as error:
            return Outcome("sandbox_error", detail=f"{self.url} did not answer with JSON: {error}")
        if isinstance(found, dict):
            return found
        kind = type(found).__name__
        return Outcome("sandbox_error", detail=f"{self.url} answered with a JSON {kind}; expected an object")


def _outcome(answer: dict[str, Any]) -> Outcome:
    result = answer.get("run_result")
    compiled = answer.get("compile_result")
    if isinstance(compiled, dict) and compiled.get("status") in ("Finished", "TimeLimitExceeded"):
        late = compiled["status"] != "Finished"
        if late or compiled.get("return_code"):
            return _measured("compile_error", compiled, _first_message(compiled, late))
    if answer.get("status") == "SandboxError" or not isinstance(result, dict):
        return Outcome("sandbox_error", detail=str(answer.get("message") or answer.get("status"))[:300])
    if result.get("status") == "TimeLimitExceeded":
        return _measured("cpu_timeout", result, None)
    if result.get("status") != "Finished":
        return Outcome("sandbox_error", detail=f"run_result.status is {result.get('status')!r}")
    return _measured("ok" if result.get("return_code") == 0 else "runtime_error", result, None)


def _first_message(compiled: dict[str, Any], late: bool) -> str:
    said = str(compiled.get("stderr") or compiled.get("stdout") or "").splitlines()
    if late:
        return "the compiler took too long and was stopped"
    return next((line.strip() for line in said if "error" in line.casefold()), "no message")[:300]


def _measured(status: OutcomeStatus, result: dict[str, Any], detail: str | None) -> Outcome:
    """Return the outcome of a run, including any measurements that rewardkit's own service sent."""
    extension = result.get(EXTENSION)
    ours = extension if isinstance(extension, dict) else {}
    elapsed = _seconds(result.get("execution_time"))
    return Outcome(
        ours["status"] if ours.get("status") in get_args(OutcomeStatus) else status,
        str(result.get("stdout") or "").encode("utf-8", "replace"),
        str(result.get("stderr") or "").encode("utf-8", "replace"),
        exit_code=result.get("return_code"),
        cpu_s=_seconds(ours.get("cpu_s")) or elapsed,
        wall_s=elapsed,
        detail=ours.get("detail") or detail,
    )


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _text(data: str | bytes) -> str:
    return (data if isinstance(data, bytes) else data.encode("utf-8", "replace")).decode("utf-8", "replace")
