"""An hour in the life of a reward server: clients of every protocol, killings, and rolling reloads.

    python benchmarks/server_soak.py [--minutes 60] [--clients 30] [--reload-every 300]

Two server processes with two scoring processes each, started from a file. Each client is a process that asks
for one sample after another over one protocol (`wires`), pauses, and compares the reward with the one that is
right. Beside them a scoring process is killed every few seconds, and so is a client in the middle of what it
does; SIGHUP has the file read anew. Bars: every request of the clients that were not killed is answered with
the right reward, though no client tries again; memory and open files of all server processes are at the end
of the last generation what they were at the end of the first, within 5 %.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
import requests
from wires import WIRES, Again, Row, Server

from rewardkit.datasets_prep.common.schema import SCHEMA, chat
from rewardkit.datasets_prep.common.schema import Row as PreparedRow

TOKEN = "soak"
TASKS = 200
WITHIN = 1.05
"""How far memory and open files may grow."""

MEASURE_S = 60.0
"""Before each reload the server is looked at for so long, or for a third of its generation."""

REWARD = """
import random, time
from rewardkit import reward

@reward("soak/slow", timeout_s=30)
def slow(sample):
    time.sleep(random.uniform(0.01, 0.3))
    return float(sample.response.endswith(f"#### {sample.ground_truth}"))
"""


@dataclass
class Figures:
    """What is measured while it runs."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    clients_killed: int = 0
    scorers_killed: int = 0
    generations: list[tuple[float, float]] = field(default_factory=list)
    """At the end of each: megabytes, open files."""


def write_files(folder: Path) -> Path:
    """The reward, the tasks and the server's configuration."""
    (folder / "slow.py").write_text(REWARD)
    rows = [
        PreparedRow(source, chat(f"What is {i} + 1?"), "math", str(i + 1), "train", i, "", "")
        for i in range(TASKS)
        for source in [source_of(i)]
    ]
    pq.write_table(
        pa.Table.from_pylist([row.as_record() for row in rows], schema=SCHEMA), folder / "train.parquet"
    )
    (folder / "serve.yaml").write_text(
        f"tokens: [{TOKEN}]\nreward: [{folder}/slow.py]\ngold: [{folder}/train.parquet]\n"
        f"tasks: [tasks={folder}/train.parquet]\nno-sandbox: true\nworkers: 2\nscorers: 4\n"
        "port: 0\nrequest-timeout: 120\n"
    )
    return folder / "serve.yaml"


def source_of(i: int) -> str:
    """Half of the tasks are scored in the server's process, half in a scoring process."""
    return "soak/slow" if i % 2 else "gsm8k"


def row_of(i: int, right: bool) -> Row:
    """A task with a response that is right or wrong; GSM8K pays a tenth for the form."""
    source = source_of(i)
    score = 1.0 if right else 0.1 if source == "gsm8k" else 0.0
    response = f"It is\n#### {i + 1 if right else i + 7}"
    return Row(source, "train", i, f"What is {i} + 1?", str(i + 1), response, score)


def client(kind: str, server: Server, answers: int, pause_s: float) -> None:
    """Ask for ever; say of each sample what came of it, a line each. Runs in a process of its own."""
    ask = WIRES[kind]
    draw = random.Random(os.getpid())
    while True:
        row = row_of(draw.randrange(TASKS), draw.random() < 0.5)
        try:
            score = ask(server, row)
            outcome = "right" if score == row.score else f"wrong: {score} for {row}"
        except Again as error:
            outcome = f"forgotten: {error}"
        except Exception as error:
            outcome = f"lost: {type(error).__name__}: {error}"
        line = json.dumps([kind, outcome[:400]]) + "\n"
        os.write(answers, line.encode())
        time.sleep(draw.uniform(0, 2 * pause_s))


class Clients:
    """The client processes, and what they say."""

    def __init__(self, server: Server, n: int, pause_s: float) -> None:
        self.server = server
        self.pause_s = pause_s
        self.reading, self.answers = os.pipe()
        self.rest = b""
        self.living: dict[int, str] = {}
        kinds = list(WIRES)
        for i in range(n):
            self.start(kinds[i % len(kinds)])

    def start(self, kind: str) -> None:
        """Start one client."""
        child = os.fork()
        if child == 0:
            for sig in (signal.SIGINT, signal.SIGTERM):
                signal.signal(sig, signal.SIG_DFL)
            client(kind, self.server, self.answers, self.pause_s)
        self.living[child] = kind

    def kill_one(self) -> None:
        """Kill one in the middle of what it does, and start another of its kind."""
        pid = random.choice(list(self.living))
        kind = self.living.pop(pid)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.start(kind)

    def said(self, timeout_s: float) -> list[tuple[str, str]]:
        """What they have said until something came, or the time is over."""
        if not select.select([self.reading], [], [], timeout_s)[0]:
            return []
        *lines, self.rest = (self.rest + os.read(self.reading, 1 << 20)).split(b"\n")
        return [tuple(json.loads(line)) for line in lines]

    def close(self) -> None:
        """Kill them all."""
        for pid in self.living:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def children(pid: int) -> list[int]:
    """The child processes of a process."""
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def servers(supervisor: int) -> list[int]:
    """The supervisor and the processes that serve."""
    return [supervisor, *children(supervisor)]


def scorers(supervisor: int) -> list[int]:
    """The scoring processes of all servers."""
    return [
        pid
        for server in children(supervisor)
        for task in Path(f"/proc/{server}/task").glob("*/children")
        for pid in _numbers(task)
    ]


def _numbers(path: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in path.read_text().split()]
    return []


def megabytes(pids: list[int]) -> float:
    """Their memory, what they share counted once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def open_files(pids: list[int]) -> int:
    """How many files they have open."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/fd"))
    return total


class Soak:
    """One run."""

    def __init__(self, args: argparse.Namespace, process: subprocess.Popen[str], clients: Clients) -> None:
        self.args = args
        self.process = process
        self.clients = clients
        self.figures = Figures()
        self.seen: list[tuple[float, int]] = []

    def run(self) -> None:
        """Let it go on until the time is over."""
        ends = time.monotonic() + 60 * self.args.minutes
        every = {
            self.kill_client: self.args.kill_clients_every,
            self.kill_scorer: self.args.kill_scorers_every,
            self.reload: self.args.reload_every,
            self.look: 2.0,
        }
        self.next_reload = time.monotonic() + self.args.reload_every
        due = {act: time.monotonic() + seconds for act, seconds in every.items()}
        while time.monotonic() < ends:
            self.note(self.clients.said(max(0.0, min(due.values()) - time.monotonic())))
            for act, at in due.items():
                if at <= time.monotonic():
                    act()
                    due[act] = time.monotonic() + every[act]
        if len(self.seen) > 5:
            self.end_generation()

    def note(self, said: list[tuple[str, str]]) -> None:
        """Count what clients have said."""
        for kind, outcome in said:
            word = outcome.partition(":")[0]
            self.figures.outcomes[f"{kind}: {word}"] += 1
            if word != "right":
                self.figures.wrong.append(f"{time.strftime('%H:%M:%S')} {kind}: {outcome}")
                print(self.figures.wrong[-1], flush=True)

    def kill_client(self) -> None:
        """Kill a client."""
        self.clients.kill_one()
        self.figures.clients_killed += 1

    def kill_scorer(self) -> None:
        """Kill a scoring process, busy or idle."""
        if found := scorers(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.choice(found), signal.SIGKILL)
                self.figures.scorers_killed += 1

    def look(self) -> None:
        """Measure the server, towards the end of a generation."""
        window_s = min(MEASURE_S, self.args.reload_every / 3)
        if self.next_reload - time.monotonic() < window_s:
            pids = servers(self.process.pid)
            self.seen.append((megabytes([*pids, *scorers(self.process.pid)]), open_files(pids)))

    def reload(self) -> None:
        """Have the file read anew."""
        self.end_generation()
        self.process.send_signal(signal.SIGHUP)
        self.next_reload = time.monotonic() + self.args.reload_every

    def end_generation(self) -> None:
        """Note what was measured at the end of a generation."""
        memory, files = (float(median(values)) for values in zip(*self.seen, strict=True))
        self.seen.clear()
        self.figures.generations.append((memory, files))
        right = sum(n for name, n in self.figures.outcomes.items() if name.endswith(": right"))
        print(
            f"{time.strftime('%H:%M:%S')} generation {len(self.figures.generations)}: {memory:.1f} MB, "
            f"{files:.0f} files; {right} right, {len(self.figures.wrong)} not",
            flush=True,
        )

    def missed(self) -> list[str]:
        """The bars that were missed."""
        (memory, files), (last_memory, last_files) = (
            self.figures.generations[0],
            self.figures.generations[-1],
        )
        bars = {
            f"{len(self.figures.wrong)} requests were lost": bool(self.figures.wrong),
            f"memory grew from {memory:.1f} to {last_memory:.1f} MB": last_memory > WITHIN * memory,
            f"open files grew from {files:.0f} to {last_files:.0f}": last_files > WITHIN * files,
            "the server ended": self.process.poll() is not None,
        }
        return [bar for bar, is_missed in bars.items() if is_missed]

    def report(self) -> None:
        """Print what came of it."""
        figures = self.figures
        for name, n in sorted(figures.outcomes.items()):
            print(f"  {name} {n}")
        print(
            f"{self.args.minutes} min: {figures.outcomes.total()} requests, {figures.clients_killed} clients "
            f"and {figures.scorers_killed} scoring processes killed, {len(figures.generations) - 1} reloads"
        )


def main() -> None:
    """Start the server and the clients, run, and fail when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between a client's requests")
    parser.add_argument("--reload-every", type=float, default=300.0, help="seconds")
    parser.add_argument("--kill-clients-every", type=float, default=5.0, help="seconds")
    parser.add_argument("--kill-scorers-every", type=float, default=7.0, help="seconds")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = write_files(Path(folder))
        command = [sys.executable, "-m", "rewardkit", "serve", "--config", str(config)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        line = ""
        while "http://" not in line:
            line = process.stderr.readline()
            assert line, "the server did not start"
        url = "http://" + line.split("http://")[1].split()[0]
        sink = subprocess.Popen(["cat"], stdin=process.stderr, stdout=sys.stderr)
        assert requests.get(f"{url}/healthz", timeout=300).ok  # it listens before it is up
        clients = Clients(Server(url, TOKEN), args.clients, args.pause)
        soak = Soak(args, process, clients)
        try:
            soak.run()
            missed = soak.missed()
        finally:
            clients.close()
            process.terminate()
            process.wait(60)
            sink.wait(10)
            soak.report()
    sys.exit("; ".join(missed) or 0)


if __name__ == "__main__":
    main()
