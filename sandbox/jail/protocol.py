"""What the driver and the fork server say to each other: one packet with descriptors each way per run."""

from __future__ import annotations

import struct

SCRIPT, CALL, SERVE, CHECK, EXEC, BUILD = range(6)
"""What the child does with its program: run it as Python; call its function on cases; answer calls on a
socket; run it as the assertions that make those calls; become another program, as `execute.Plan` says; the
same, and hand back the file that it leaves."""

JOB = struct.Struct("=B?2xII6Q")
"""mode, prelude, processes, threads, cpu_us, wall_us, idle_us (0: no limit), memory, output, resident (bytes
of memory in use at which it is killed, 0: not watched); with the descriptors program, stdin, stdout, stderr,
and for the modes beyond SCRIPT what they have on 3 and 4."""

REPORT = struct.Struct("=BxxxiQQQ")
"""why it was stopped, wait status, cpu_us, wall_us, peak memory in KiB."""

ENDED, CPU, WALL, IDLE, PROCESSES, CANCELLED, NOT_STARTED, MEMORY, OUTPUT = range(9)
"""Why a run was stopped: it was not; its limits; the driver asked; the jail could not be set up; memory; what
it has written to its working directory."""

CANCEL = b"cancel"
HELLO = b"ready"
MAX_PACKET = 65536

PROGRAM_MODULES = (
    "solution", "main", "candidate", "submission", "answer", "your_module", "my_module", "your_solution",
    "my_solution", "solution_module",
)  # fmt: skip
"""What tests call the module in which the program is."""
