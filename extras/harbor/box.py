"""Runs the commands and the grader of a Harbor task in the sandbox, and reads the grader's reward.

The files in `/app` are passed from run to run as an archive, which is packed and unpacked only inside the
jail. The grader's own files are written after the archive is unpacked, by a script that bash has already read
in full, so that nothing in the archive can replace them.
"""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass, replace

import msgspec

from rewardkit.foreign.reward_of_spec import number
from rewardkit.json_objects import NOT_JSON
from rewardkit.sandbox import Job, Limits, Outcome
from rewardkit.sandbox.outcome import OVER_LIMIT, TIMED_OUT
from rewardkit.types import Score, failure
from rewardkit_extras.harbor.task import HarborTask

_STATE = "app.tar"
_JSON = "logs/verifier/reward.json"
_TEXT = "logs/verifier/reward.txt"
_SAID = "logs/verifier/test-stdout.txt"
_OUTPUT = 48 << 20
"""Limit on the total size in bytes of the files that a run returns."""

_UNPACK = "mkdir -p /box/w/app && if [ -e app.tar ]; then tar -xf app.tar -C app; fi; rm -f /box/w/app.tar"
_PACK = "tar -cf app.tar -C app ."
# The archive is removed under its path in the jail, since this path does not exist outside the jail.


class BoxError(RuntimeError):
    """Raised if the sandbox fails or the files from a run cannot be saved. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class BoxRun:
    """Result of a command."""

    outcome: Outcome
    state: bytes
    """Archive with the files in `/app` after the command."""

    @property
    def text(self) -> str:
        """Output of the command, followed by the status if the command failed."""
        said = (self.outcome.stdout + self.outcome.stderr).decode("utf-8", "replace").strip()
        ended = "" if self.outcome.ok else f"[{self.outcome.status}, exit code {self.outcome.exit_code}]"
        return "\n".join(part for part in (said, ended) if part)


def command_job(command: str, state: bytes, limits: Limits) -> Job:
    """Return a sandbox job that runs a shell command in `/app`.

    Args:
        command: Shell command.
        state: Archive with the files in `/app` from an earlier run. Empty if there is no earlier run.
        limits: Limits of the run.
    """
    inner = f"bash -c {shlex.quote(command)} < /dev/null"  # a separate shell, so that `exit` is harmless
    return _job(f"(cd /app && {inner})\ncode=$?\n{_PACK}\nexit $code", state, limits, (_STATE,))


def read_command(outcome: Outcome, before: bytes) -> BoxRun:
    """Read the result of a command's run.

    Args:
        outcome: Outcome of the sandbox job.
        before: Archive with the files in `/app` before the run.

    Raises:
        BoxError: The sandbox failed, or the files in `/app` cannot be saved.
    """
    left = _fetched(outcome).get(_STATE)
    if left is not None:
        return BoxRun(outcome, left)
    if outcome.status in (*TIMED_OUT, *OVER_LIMIT):
        return BoxRun(outcome, before)  # killed before `/app` was saved, so the run has no effect
    raise BoxError(
        f"cannot save /app: the folder is larger than {_OUTPUT >> 20} MB, or the command prevented the save"
    )


def grader_job(task: HarborTask, state: bytes) -> Job:
    """Return a sandbox job that runs a task's grader on the files in `/app`."""
    lines = ["rm -rf /box/w/tests /box/w/logs", "mkdir -p tests logs/verifier"]
    for name, content in task.tests:
        path = shlex.quote(f"tests/{name}")
        lines.append(f'mkdir -p "$(dirname {path})"')
        lines.append(f"base64 -d > {path} <<< {base64.b64encode(content).decode()}")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in task.env.items()]
    lines.append(f"(cd /app && bash /tests/test.sh) > {_SAID} 2>&1 < /dev/null")
    limits = Limits(cpu_s=task.timeout_s, wall_s=task.timeout_s, memory_mb=task.memory_mb)
    return _job("\n".join(lines), state, limits, (_JSON, _TEXT, _SAID))


def read_grade(outcome: Outcome, task: HarborTask) -> Score:
    """Read the score from a grader's run.

    Raises:
        BoxError: The sandbox failed.
    """
    files = _fetched(outcome)
    if outcome.status in TIMED_OUT:
        return failure("timeout", f"the grader did not finish within {task.timeout_s:g} s")
    said = " ".join(files.get(_SAID, b"").decode("utf-8", "replace").split())[-300:]
    return read_reward(files.get(_JSON), files.get(_TEXT), said)


def read_reward(as_json: bytes | None, as_text: bytes | None, said: str = "") -> Score:
    """Read the score from a grader's files.

    `reward.json` takes precedence over `reward.txt`. Its number named `reward`, or else its only number, is
    the score.
    """
    if as_json is None and as_text is None:
        return failure("error", f"the grader wrote neither reward.json nor reward.txt; its output: {said}")
    try:
        if as_json is not None:
            found = msgspec.json.decode(as_json, type=dict[str, float | bool])
        else:
            found = {"reward": float((as_text or b"").decode())}
    except NOT_JSON as error:
        return failure("error", f"cannot read the grader's reward: {error}")
    numbers = {name: value for name, one in found.items() if (value := number(one)) is not None}
    if len(numbers) < len(found) or not numbers:
        return failure("error", f"the grader's reward is {json.dumps(found)[:100]}; expected finite numbers")
    name = "reward" if "reward" in numbers else next(iter(numbers))
    if name != "reward" and len(numbers) > 1:
        return failure(
            "invalid", f"the grader wrote several numbers, but none named 'reward': {', '.join(numbers)}"
        )
    parts = {key: value for key, value in numbers.items() if key != name}
    return Score(numbers[name], parts=parts, detail=said or None)


def _job(script: str, state: bytes, limits: Limits, fetch: tuple[str, ...]) -> Job:
    # Bash reads a function in full before running it. Otherwise the archive could replace the script's file.
    whole = f"main() {{\n{_UNPACK}\n{script}\n}}\nmain; exit $?\n"
    return Job(
        whole.encode("utf-8", "replace"),
        limits=replace(limits, output_bytes=_OUTPUT),
        language="bash",
        files=((_STATE, state),) if state else (),
        fetch=fetch,
    )


def _fetched(outcome: Outcome) -> dict[str, bytes]:
    """Return the files that a run wrote, except files that are too large.

    Raises:
        BoxError: The sandbox failed.
    """
    if outcome.status in ("sandbox_error", "cancelled"):
        raise BoxError(f"the sandbox failed: {outcome.detail or outcome.status}")
    try:
        found = msgspec.json.decode(outcome.results, type=dict[str, str | None])
    except NOT_JSON:
        return {}
    return {name: base64.b64decode(content) for name, content in found.items() if content is not None}
