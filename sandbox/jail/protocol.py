"""Messages between the driver and the fork server. Each run takes one packet in each direction."""

from __future__ import annotations

import struct

SCRIPT, CALL, SERVE, CHECK, EXEC, BUILD = range(6)
"""Modes of a child. SCRIPT runs a Python program. CALL calls one of its functions on cases. SERVE answers
calls on a socket, and CHECK runs the assertions that make those calls. EXEC executes another program
according to `execute.ExecutionPlan`. BUILD does the same and sends back the program's output file."""

JOB = struct.Struct("=B?BBII3QqQQ")
"""Fields of a job packet: mode, prelude, position of the profile in `limits.PROFILES`, role, processes,
threads, cpu_us, wall_us, idle_us (0 means no limit), used_us (CPU time of the program's earlier runs,
less its allowance), memory, output.
The packet carries the descriptors of program, stdin, stdout and stderr. In modes other than SCRIPT, and for
scripts with files, it also carries the descriptors that become 3 and 4 in the child. A run with a role has
one more, the file through which the two runs of a pair share their idle time."""

ALONE, PROGRAM, TESTS = range(3)
"""Roles of a run: alone, or one of a pair in which a program answers the calls of its tests."""

REPORT = struct.Struct("=BxxxiQQQQ")
"""Fields of a report packet: reason for stopping, wait status, cpu_us, wall_us, held_us (time for which the
run waited for its turn, not part of wall_us), peak memory in KiB."""

ENDED, CPU, WALL, IDLE, PROCESSES, CANCELLED, NOT_STARTED, MEMORY, OUTPUT = range(9)
"""Reasons for stopping a run. ENDED means that the run ended by itself, CANCELLED that the driver asked for
the stop, NOT_STARTED that the jail could not be set up, MEMORY that too much memory was in use, and OUTPUT
that the working directory became too large. The other reasons name the limit that the run exceeded."""

PARKED = b"parked"
"""Packet from the server when a run sleeps or is stopped for the first time. Another program may start."""
HELD = b"held"
"""Packet that the server sends every few seconds while a run waits for its turn."""

CANCEL = b"cancel"
HELLO = b"ready"
MAX_PACKET = 65536

PROGRAM_MODULES = (
    "solution", "main", "candidate", "submission", "answer", "your_module", "my_module", "your_solution",
    "my_solution", "solution_module",
)  # fmt: skip
"""Module names under which tests may import the program."""
