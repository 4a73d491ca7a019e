"""Runs the attacks in other languages at one level with canaries around them; a script, so that any uid can.

    python native_corpus.py LEVEL [NAME ...]      prints one JSON object: attack -> what was not held

An attack whose language cannot be run there is told with the reason, under `unavailable`.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus import Canaries, descendants
from native_attacks import ATTACKS, COMPILERS, SECRET, Attack

from rewardkit.sandbox import Limits, Outcome, Sandbox, SandboxUnavailable, building
from rewardkit.sandbox.languages import LANGUAGES
from rewardkit.sandbox.outcome import IsolationLevel

PATIENT = replace(building.BUILD_LIMITS, cpu_s=4.0, wall_s=300.0)
BOMB = replace(PATIENT, cpu_s=0.5)
"""A bomb for a compiler is no different in 30 s."""
LIMITS = Limits(cpu_s=1.0, wall_s=120.0, idle_s=3.0, memory_mb=256, output_bytes=1 << 20)
DOZING = replace(LIMITS, idle_s=0.5)
"""For what does nothing from its beginning, and is to be ended for that."""


building.BUILD_LIMITS = PATIENT
LANGUAGES["cpp17"] = replace(LANGUAGES["cpp17"], hello=LANGUAGES["c"].hello)
"""C++ is proved with the library of C: that all of its own compiles is for the languages' tests, and takes seconds."""


def not_held(sandbox: Sandbox, attack: Attack, canaries: Canaries) -> list[str]:
    """Run one attack; return what was not held."""
    port = str(canaries.listeners[0].getsockname()[1])
    _prove(sandbox, attack.language)
    building.BUILD_LIMITS = BOMB if attack in COMPILERS.values() and attack.language != "java" else PATIENT
    code = attack.code.replace("@CANARY@", str(canaries.file)).replace("@PORT@", port)
    limits = DOZING if attack.ends == ("idle_timeout",) else LIMITS
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


@functools.cache
def _prove(sandbox: Sandbox, language: str) -> None:
    """Have the compiler proved once, while it is given enough time for that."""
    sandbox.run(LANGUAGES[language].hello, "", LIMITS, language=language)


def _seen(outcome: Outcome) -> list[str]:
    """What stands in the output that may not; the compiler may show the source."""
    said = outcome.stdout if outcome.status == "compile_error" else outcome.stdout + outcome.stderr
    found = [f"PWNED: {said[-300:]!r}"] if b"PWNED" in said else []
    return found + (["leaked"] if SECRET.encode() in outcome.stdout + outcome.stderr else [])


def run(level: IsolationLevel, names: list[str]) -> dict[str, Any]:
    """Run attacks at `level`; return what was not held, by name."""
    os.environ["REWARDKIT_CANARY"] = SECRET
    found: dict[str, Any] = {"unavailable": {}}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Sandbox(level) as sandbox, closing(Canaries(Path(folder))) as canaries:
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
    print(json.dumps(run(sys.argv[1], sys.argv[2:])))  # type: ignore[arg-type]
