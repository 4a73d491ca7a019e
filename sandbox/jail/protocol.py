"""Messages between the driver and the fork server: one packet with descriptors each way per run."""

from __future__ import annotations

import struct

SCRIPT, CALL, SERVE, CHECK, EXEC, BUILD = range(6)
"""Modes of a child: run its program as Python; call its function on cases; answer calls on a socket; run it
as the assertions that make those calls; execute another program according to `execute.ExecutionPlan`; the
same, and send back its output file."""

JOB = struct.Struct("=B?2xII6Q")
"""Fields: mode, prelude, processes, threads, cpu_us, wall_us, idle_us (0: no limit), memory, output, resident
(bytes of memory in use at which it is killed, 0: not watched). Sent with the descriptors of program, stdin,
stdout and stderr, and for the modes beyond SCRIPT those for 3 and 4."""

REPORT = struct.Struct("=BxxxiQQQ")
"""Fields: the reason for stopping, wait status, cpu_us, wall_us, peak memory in KiB."""

ENDED, CPU, WALL, IDLE, PROCESSES, CANCELLED, NOT_STARTED, MEMORY, OUTPUT = range(9)
"""Reasons for stopping a run: none; its limits; the driver's request; the jail could not be set up; memory;
the size of its working directory."""

CANCEL = b"cancel"
HELLO = b"ready"
MAX_PACKET = 65536

PROGRAM_MODULES = (
    "solution", "main", "candidate", "submission", "answer", "your_module", "my_module", "your_solution",
    "my_solution", "solution_module",
)  # fmt: skip
"""Names that tests use for the module of the program."""
