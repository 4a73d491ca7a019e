"""Messages between the driver and the fork server: for each run, one packet in each direction."""

from __future__ import annotations

import struct

SCRIPT, CALL, SERVE, CHECK, EXEC, BUILD = range(6)
"""Modes of a child: run its program as Python; call a function on cases; answer calls on a socket; run its
program as the assertions that make those calls; execute another program according to
`execute.ExecutionPlan`; execute another program and send back its output file."""

JOB = struct.Struct("=B?2xII6Q")
"""Fields: mode, prelude, processes, threads, cpu_us, wall_us, idle_us (0: no limit), memory, output, resident
(bytes of memory in use at which the run is killed, 0: no limit). Sent with the descriptors of program, stdin,
stdout and stderr, and in modes other than SCRIPT with those for the child's descriptors 3 and 4."""

REPORT = struct.Struct("=BxxxiQQQ")
"""Fields: reason for stopping, wait status, cpu_us, wall_us, peak memory in KiB."""

ENDED, CPU, WALL, IDLE, PROCESSES, CANCELLED, NOT_STARTED, MEMORY, OUTPUT = range(9)
"""Reasons for stopping a run: none; CPU time, elapsed time, idle time, number of processes; request of the
driver; failure to set up the jail; memory in use; size of the working directory."""

CANCEL = b"cancel"
HELLO = b"ready"
MAX_PACKET = 65536

PROGRAM_MODULES = (
    "solution", "main", "candidate", "submission", "answer", "your_module", "my_module", "your_solution",
    "my_solution", "solution_module",
)  # fmt: skip
"""Names by which tests import the program as a module."""
