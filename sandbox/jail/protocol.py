"""What the driver and the fork server say to each other: one packet with descriptors each way per run."""

from __future__ import annotations

import struct

SCRIPT, CALL, SERVE, CHECK = range(4)
"""What the child does with its program: run it; call its function on cases; answer calls on a socket;
run it as the assertions that make those calls."""

JOB = struct.Struct("=B?2xII4Q")
"""mode, prelude, processes, threads, cpu_us, wall_us, memory, output; with the descriptors program,
stdin, stdout, stderr, and for the modes beyond SCRIPT what they have on 3 and 4."""

REPORT = struct.Struct("=BxxxiQQQ")
"""why it was stopped, wait status, cpu_us, wall_us, peak memory in KiB."""

ENDED, CPU, WALL, PROCESSES, CANCELLED, NOT_STARTED = range(6)
"""Why a run was stopped: it was not; its limits; the driver asked; the jail could not be set up."""

CANCEL = b"cancel"
HELLO = b"ready"
MAX_PACKET = 65536
