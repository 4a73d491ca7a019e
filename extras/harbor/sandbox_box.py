"""Box for Harbor tasks without an image of their own. It runs commands in rewardkit's sandbox.

Each command is a separate run. The files in `/app` are passed from run to run as an archive, which is packed
and unpacked only inside the jail. A script writes all other files after the archive is unpacked. bash reads
this script in full before it runs, so nothing in the archive can replace the script or these files.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from rewardkit.json_objects import NOT_JSON
from rewardkit.sandbox import Job, Limits, Outcome
from rewardkit.sandbox.outcome import OVER_LIMIT, TIMED_OUT
from rewardkit_extras.harbor.box import REWARD_JSON, REWARD_TEXT, BoxError, Ran

RunJob = Callable[[Job], Awaitable[Outcome]]

_STATE = "app.tar"
_FETCHED = (_STATE, REWARD_JSON[1:], REWARD_TEXT[1:])
_OUTPUT = 48 << 20
"""Limit on the total size in bytes of the files that a run returns."""

_UNPACK = "mkdir -p /box/w/app && if [ -e app.tar ]; then tar -xf app.tar -C app; fi; rm -f /box/w/app.tar"
_PACK = "tar -cf app.tar -C app ."
# The folder `/box/w` exists only inside the jail.


class SandboxBox:
    """System for one attempt that consists of the files in `/app`.

    A command that exceeds a limit has no effect. Files outside of `/app` exist for one command only.
    """

    def __init__(self, run: RunJob, memory_mb: int) -> None:
        """Create an empty system.

        Args:
            run: Function that runs a job in a sandbox.
            memory_mb: Memory limit in MiB.
        """
        self._run = run
        self._memory_mb = memory_mb
        self._state: bytes | None = b""
        self._added: dict[str, Mapping[str, bytes]] = {}
        self._found: dict[str, bytes] = {}

    async def start(self) -> None:
        """Do nothing. Each command starts in a new jail."""

    async def exec(
        self, command: str, cpu_s: float, wall_s: float | None = None, user: str | None = None
    ) -> Ran:
        """Run a command in `/app` as the sandbox's own user. See `Box.exec`."""
        if self._state is None:
            raise BoxError(
                f"cannot save /app: the folder is larger than {_OUTPUT >> 20} MB, or the command prevented "
                "the save"
            )
        job = self._job(command, Limits(cpu_s, wall_s, self._memory_mb, _OUTPUT))
        self._added = {}
        outcome = await self._run(job)
        self._found = _fetched(outcome)
        left = self._found.pop(_STATE, None)
        if left is not None or outcome.status not in (*TIMED_OUT, *OVER_LIMIT):
            self._state = left  # A run that was killed before `/app` was saved has no effect.
        said = outcome.stdout + outcome.stderr
        return Ran(said.decode("utf-8", "replace"), outcome.status, outcome.exit_code)

    async def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Keep the files for the next command."""
        self._added[folder] = files

    async def get(self, path: str) -> bytes | None:
        """Return a reward file that the last command wrote."""
        return self._found.get(path[1:])

    async def stop(self) -> None:
        """Do nothing. No process outlives its command."""

    def _job(self, command: str, limits: Limits) -> Job:
        lines = [_UNPACK]
        for folder, files in self._added.items():
            lines.append(f"rm -rf /box/w{folder}; mkdir -p .{folder}")
            for name, content in files.items():
                path = shlex.quote(f".{folder}/{name}")
                lines.append(f'mkdir -p "$(dirname {path})"')
                lines.append(f"base64 -d > {path} <<< {base64.b64encode(content).decode()}")
        # The command runs in a separate shell, so that `exit` is harmless.
        inner = f"bash -c {shlex.quote(command)} < /dev/null"
        lines.append(f"(cd /app && {inner})\ncode=$?\n{_PACK}\nexit $code")
        # Bash reads a function in full before running it, so the archive cannot replace the script.
        whole = "main() {\n" + "\n".join(lines) + "\n}\nmain; exit $?\n"
        return Job(
            whole.encode("utf-8", "replace"),
            limits=limits,
            language="bash",
            files=((_STATE, self._state),) if self._state else (),
            fetch=_FETCHED,
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
