"""Level `guard` needs nothing that a container's default seccomp profile forbids, and no capability."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit.sandbox.levels import why_not

ROOT = Path(__file__).parents[2]

# What docker's default profile denies to a process without capabilities: moby profiles/seccomp/default.json,
# by the numbers of x86_64. `clone` and `unshare` are denied for namespaces.
DENIED = {
    "acct": 163, "add_key": 248, "bpf": 321, "clock_adjtime": 305, "clock_settime": 227, "clone3": 435,
    "create_module": 174, "delete_module": 176, "fanotify_init": 300, "fsconfig": 431, "fsmount": 432,
    "fsopen": 430, "fspick": 433, "init_module": 175, "finit_module": 313, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "ioperm": 173, "iopl": 172, "kcmp": 312,
    "kexec_load": 246, "keyctl": 250, "lookup_dcookie": 212, "mbind": 237, "mount": 165, "mount_setattr": 442,
    "move_mount": 429, "move_pages": 279, "name_to_handle_at": 303, "nfsservctl": 180,
    "open_by_handle_at": 304, "open_tree": 428, "perf_event_open": 298, "pivot_root": 155, "quotactl": 179,
    "reboot": 169, "request_key": 249, "set_mempolicy": 238, "setdomainname": 171, "sethostname": 170,
    "setns": 308, "settimeofday": 164, "swapoff": 168, "swapon": 167, "syslog": 103, "umount2": 166,
    "unshare": 272, "userfaultfd": 323, "ustat": 136, "vhangup": 153, "vmsplice": 278,
}  # fmt: skip

CONFINED = """
import json, os, sys
from rewardkit.sandbox.jail import kernel
from rewardkit.sandbox import Sandbox, SandboxUnavailable, levels
denied = json.loads(sys.argv[1])
program = [(0x20, 0, 0, 0)]
for number in denied:
    program += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
# clone with any namespace flag: load the number, then the flags
program += [(0x15, 0, 4, 56), (0x20, 0, 0, 16), (0x54, 0, 0, 0x7E020000), (0x15, 1, 0, 0), (0x06, 0, 0, 0x00050001)]
program += [(0x06, 0, 0, 0x7FFF0000)]
if os.geteuid() == 0:
    kernel.drop_capabilities()
kernel.no_new_privileges()
kernel.Filter(program).install()
assert levels.why_not("warm")
with Sandbox() as box:
    done = box.run("print(int(input()) + 1)", "41")
    print(json.dumps([box.level, done.status, done.stdout.decode()]))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_programs_run_at_guard_under_the_default_profile_of_containers() -> None:
    if reason := why_not("guard"):
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-c", CONFINED, json.dumps(sorted(DENIED.values()))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["guard", "ok", "42\n"]
