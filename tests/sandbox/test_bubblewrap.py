"""The bubblewrap backend: other languages, each limit with its status; skipped where it cannot work."""

from __future__ import annotations

import shutil

import pytest

from rewardkit.sandbox import Limits, Outcome, SandboxUnavailable, bubblewrap
from rewardkit.sandbox.bubblewrap import run_command

SHORT = Limits(cpu_s=1, wall_s=5)


def shell(script: str, stdin: bytes = b"", limits: Limits = SHORT) -> Outcome:
    try:
        return run_command(["sh", "main.sh"], {"main.sh": script.encode()}, stdin, limits)
    except SandboxUnavailable as error:
        pytest.skip(str(error))


def test_another_language_runs() -> None:
    outcome = shell("read x; echo $((x + 1))", b"41\n")
    assert (outcome.status, outcome.stdout, outcome.exit_code) == ("ok", b"42\n", 0)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 3", "runtime_error"),
        ("while :; do :; done", "cpu_timeout"),
        ("sleep 60", "wall_timeout"),
        ("yes", "output_limit"),
    ],
)
def test_every_end_has_its_status(script: str, status: str) -> None:
    assert shell(script, limits=Limits(cpu_s=0.5, wall_s=4, output_bytes=1 << 16)).status == status


def test_a_program_cannot_pose_as_a_failure_of_the_jail() -> None:
    assert shell("echo 'bwrap: no namespaces' >&2; exit 1").status == "runtime_error"


def test_the_host_is_not_there() -> None:
    outcome = shell(
        "cat /etc/passwd || cat /root/x || echo x > /usr/x || ls /home; env | grep -c . ; ls /proc | grep -c '^[0-9]'"
    )
    assert b"root:" not in outcome.stdout and b"HOME" not in outcome.stdout


def test_without_the_program_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        bubblewrap.run_command(["true"], {})
