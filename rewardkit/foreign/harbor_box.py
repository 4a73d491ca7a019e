"""Runs what a Harbor task brings in our sandbox: commands in `/app`, then the grader, and reads its reward.

The files of `/app` go from run to run as an archive that only the jail packs and unpacks. The grader's own
files are written by the same script, which bash has read whole, after that archive was unpacked; so nothing
in it can take their place.
"""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass

import msgspec

from rewardkit.foreign.harbor_task import HarborTask
from rewardkit.foreign.making import number
from rewardkit.sandbox import Job, Limits, Outcome, Sandbox
from rewardkit.sandbox.outcome import TIMED_OUT
from rewardkit.types import Score, failure

_STATE = "app.tar"
_JSON = "logs/verifier/reward.json"
_TEXT = "logs/verifier/reward.txt"
_SAID = "logs/verifier/test-stdout.txt"
_OUTPUT = 48 << 20
"""Bytes of files that are handed back from a run."""

_UNPACK = "mkdir -p /box/w/app && if [ -e app.tar ]; then tar -xf app.tar -C app; fi; rm -f /box/w/app.tar"
_PACK = "tar -cf app.tar -C app ."
# What is removed is named by its place in the jail: outside of it there is no such path.


class BoxError(RuntimeError):
    """The sandbox failed, or what a run left cannot be kept; the message says why."""


@dataclass(frozen=True, slots=True)
class BoxRun:
    """What came of a command."""

    outcome: Outcome
    state: bytes
    """The files of `/app` after it."""

    @property
    def text(self) -> str:
        """What it wrote, and how it ended if not well."""
        said = (self.outcome.stdout + self.outcome.stderr).decode("utf-8", "replace").strip()
        ended = "" if self.outcome.ok else f"[{self.outcome.status}, exit code {self.outcome.exit_code}]"
        return "\n".join(part for part in (said, ended) if part)


def run_command(sandbox: Sandbox, command: str, state: bytes, limits: Limits) -> BoxRun:
    """Run a shell command in `/app`.

    Args:
        state: What an earlier run left there; empty: nothing.

    Raises:
        BoxError: the sandbox failed, or `/app` has become too large to keep.
        LanguageUnavailable: shell scripts cannot be run on this host.
    """
    script = f"(cd /app && {_inner(command)})\ncode=$?\n{_PACK}\nexit $code"
    outcome = _run(sandbox, script, state, limits, (_STATE,))
    left = _fetched(outcome).get(_STATE)
    if left is None and outcome.status in TIMED_OUT:
        return BoxRun(outcome, state)  # it was killed before it could be kept: as if it had not run
    if left is None:
        raise BoxError(
            f"/app cannot be kept: it is larger than {_OUTPUT >> 20} MB, or was broken by the command"
        )
    return BoxRun(outcome, left)


def grade(sandbox: Sandbox, task: HarborTask, state: bytes) -> Score:
    """Run the task's grader on the files of `/app`, and return the reward that it leaves."""
    limits = Limits(
        cpu_s=task.timeout_s,
        wall_s=task.timeout_s,
        memory_mb=task.memory_mb,
        output_bytes=_OUTPUT,
    )
    try:
        outcome = _run(sandbox, _grader_of(task), state, limits, (_JSON, _TEXT, _SAID))
    except BoxError as error:
        return failure("error", str(error))
    if outcome.status in TIMED_OUT:
        return failure("timeout", f"the grader was not done after {task.timeout_s:g} s")
    files = _fetched(outcome)
    said = " ".join(files.get(_SAID, b"").decode("utf-8", "replace").split())[-300:]
    return read_reward(files.get(_JSON), files.get(_TEXT), said)


def read_reward(as_json: bytes | None, as_text: bytes | None, said: str = "") -> Score:
    """Return the score that a grader's files give.

    `reward.json` counts if it is there: of its numbers the one called `reward`, else the only one.
    """
    if as_json is None and as_text is None:
        return failure("error", f"the grader left no reward.json and no reward.txt; it said: {said}")
    try:
        if as_json is not None:
            found = msgspec.json.decode(as_json, type=dict[str, float | bool])
        else:
            found = {"reward": float((as_text or b"").decode())}
    except (msgspec.DecodeError, ValueError) as error:
        return failure("error", f"the grader's reward cannot be read: {error}")
    numbers = {name: value for name, one in found.items() if (value := number(one)) is not None}
    if len(numbers) < len(found) or not numbers:
        return failure("error", f"the grader's reward is {json.dumps(found)[:100]}; expected finite numbers")
    name = "reward" if "reward" in numbers else next(iter(numbers))
    if name != "reward" and len(numbers) > 1:
        return failure("invalid", f"none of the grader's rewards is called reward: {', '.join(numbers)}")
    parts = {key: value for key, value in numbers.items() if key != name}
    return Score(numbers[name], parts=parts, detail=said or None)


def _grader_of(task: HarborTask) -> str:
    lines = ["rm -rf /box/w/tests /box/w/logs", "mkdir -p tests logs/verifier"]
    for name, content in task.tests:
        path = shlex.quote(f"tests/{name}")
        lines.append(f'mkdir -p "$(dirname {path})"')
        lines.append(f"base64 -d > {path} <<< {base64.b64encode(content).decode()}")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in task.env.items()]
    lines.append(f"(cd /app && bash /tests/test.sh) > {_SAID} 2>&1 < /dev/null")
    return "\n".join(lines)


def _inner(command: str) -> str:
    """A command as a process of its own: what it sets, and that it exits, ends with it."""
    return f"bash -c {shlex.quote(command)} < /dev/null"


def _run(sandbox: Sandbox, script: str, state: bytes, limits: Limits, fetch: tuple[str, ...]) -> Outcome:
    # As a function: bash reads it whole before it runs, and unpacking could replace the script's file.
    whole = f"main() {{\n{_UNPACK}\n{script}\n}}\nmain; exit $?\n"
    files = ((_STATE, state),) if state else ()
    job = Job(whole.encode("utf-8", "replace"), b"", limits, language="bash", files=files, fetch=fetch)
    outcome = sandbox.run_job(job)
    if outcome.status in ("sandbox_error", "cancelled"):
        raise BoxError(f"the sandbox failed: {outcome.detail or outcome.status}")
    return outcome


def _fetched(outcome: Outcome) -> dict[str, bytes]:
    """The files that a run left; one that was too large is not among them."""
    try:
        found = msgspec.json.decode(outcome.results, type=dict[str, str | None])
    except msgspec.DecodeError:
        return {}
    return {name: base64.b64decode(content) for name, content in found.items() if content is not None}
