"""Runs the attacks in other languages at one level with canaries around them; a script, so that any uid can.

    python native_corpus.py LEVEL [NAME ...] < KEPT      prints one JSON object: attack -> what was not held

An attack whose language cannot be run there is told with the reason, under `unavailable`. Under `kept` is what the
next run is given (`{}` for the first): the programs as they were built, by language and source, in base 64; and the
folder and port of the canaries, which some of them name.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus import Canaries, descendants
from native_attacks import ATTACKS, COMPILERS, RAN, SECRET, Attack

from rewardkit.sandbox import Limits, Outcome, Sandbox, SandboxUnavailable, building
from rewardkit.sandbox.building import Build, Builds, RunJob
from rewardkit.sandbox.languages import LANGUAGES
from rewardkit.sandbox.outcome import IsolationLevel
from rewardkit.sandbox.worker import Job

PATIENT = replace(building.BUILD_LIMITS, cpu_s=4.0, wall_s=300.0)
BOMB = replace(PATIENT, cpu_s=0.12)
"""A bomb for a compiler is no different in 30 s; what is none takes a third of this."""
NO_BOMB = replace(PATIENT, cpu_s=3.0)
"""For what has to be built, on a busy machine too."""
JAVA_BOMB = replace(PATIENT, memory_mb=512)
"""Java's compiler takes half a second for any program; a bomb fills 512 MiB as it does 2 GiB."""
LIMITS = Limits(cpu_s=1.0, wall_s=120.0, idle_s=3.0, memory_mb=128, output_bytes=1 << 20, threads=32)
DOZING = replace(LIMITS, idle_s=0.5)
"""For what does nothing from its beginning, and is to be ended for that."""
BUSY = replace(LIMITS, cpu_s=0.2)
"""For what is to be ended for running on, which it does within a tenth of a second."""


building.BUILD_LIMITS = PATIENT


class Kept(Builds):
    """Builds that know the programs which an earlier run has built, and keep its own for the next.

    What a program tries does not depend on where it was built; what is to be held as it is built is built anew.
    """

    def __init__(self, built: dict[str, str]) -> None:
        super().__init__()
        self.built = dict(built)

    def get(self, job: Job, level: IsolationLevel, run: RunJob) -> Build | Outcome:
        """Return the build of a job's program, from an earlier run if that has built it."""
        source = job.program.decode()
        key = f"{job.language}\n{source}"
        if key in self.built and building.BUILD_LIMITS == PATIENT:
            tools = self.prove(LANGUAGES[job.language], level, run)
            return Build(LANGUAGES[job.language], tools, source, base64.b64decode(self.built[key]))
        made = super().get(job, level, run)
        if isinstance(made, Build):
            self.built[key] = base64.b64encode(made.program).decode()
        return made


def not_held(sandbox: Sandbox, attack: Attack, canaries: Canaries) -> list[str]:
    """Run one attack; return what was not held."""
    sandbox.prove(attack.language)  # once, while it is given enough time for that
    if attack in COMPILERS.values():
        limited = JAVA_BOMB if attack.language == "java" else BOMB
        building.BUILD_LIMITS = NO_BOMB if attack.ends == RAN else limited
    code = attack.code.replace("@CANARY@", str(canaries.file)).replace("@PORT@", str(canaries.port))
    limits = {("idle_timeout",): DOZING, ("cpu_timeout", "idle_timeout"): BUSY}.get(attack.ends, LIMITS)
    outcome = sandbox.run(code, "", limits, language=attack.language)
    building.BUILD_LIMITS = PATIENT
    wrong = [*canaries.hurt(), *_seen(outcome)]
    if outcome.status not in attack.ends:
        wrong.append(
            f"ended as {outcome.status} {outcome.exit_code} {outcome.detail}: {outcome.stderr[-300:]!r}"
        )
    servers = {worker.pid for worker in sandbox._workers.values()}
    for server in servers:
        if len(left := descendants(server)) > (1 if sandbox.level == "warm" else 0):
            wrong.append(f"left processes {left}")
    after = sandbox.run("import os\nprint(6 * 7, os.environ)")
    if after.stdout != b"42 environ({})\n":
        wrong.append(f"the next run: {after}")
    return wrong


def _seen(outcome: Outcome) -> list[str]:
    """What stands in the output that may not; the compiler may show the source."""
    said = outcome.stdout if outcome.status == "compile_error" else outcome.stdout + outcome.stderr
    found = [f"PWNED: {said[-300:]!r}"] if b"PWNED" in said else []
    return found + (["leaked"] if SECRET.encode() in outcome.stdout + outcome.stderr else [])


@contextmanager
def folder_of_canaries(path: str) -> Iterator[Path]:
    """The folder of an earlier run again, so that programs which name it need not be built again; or a new one."""
    try:
        os.mkdir(path)
    except OSError:
        path = tempfile.mkdtemp()
    os.chmod(path, 0o755)
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path)


def run(level: IsolationLevel, names: list[str], kept: dict[str, Any]) -> dict[str, Any]:
    """Run attacks at `level`; return what was not held, by name."""
    os.environ["REWARDKIT_CANARY"] = SECRET
    builds = Kept(kept.get("built", {}))
    found: dict[str, Any] = {"unavailable": {}}
    with folder_of_canaries(kept.get("folder", "")) as folder:
        canaries = Canaries(folder, kept.get("port", 0))
        found["kept"] = {"built": builds.built, "folder": str(folder), "port": canaries.port}
        with closing(canaries), Sandbox(level, builds=builds) as sandbox:
            for name in names or ATTACKS:
                try:
                    wrong = not_held(sandbox, ATTACKS[name], canaries)
                except SandboxUnavailable as error:
                    found["unavailable"][name] = str(error)
                    continue
                if wrong:
                    found[name] = wrong
    return found


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2:], json.load(sys.stdin))))  # type: ignore[arg-type]
