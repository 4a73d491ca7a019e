"""The first commands of every page run one after another, in one folder, as a reader types them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, STDOUT

import httpx
import pytest

from tests.docs.pages import PAGES, README, first_commands, in_reading_order, script, write_code
from tests.living import until
from tests.ports import own_port
from tests.trainer.running import Program


def test_the_first_commands_of_a_page_have_no_placeholders() -> None:
    assert not [one for page in PAGES for one in first_commands(page) if re.search(r"\.\.\.|[A-Z]{4,}", one)]


@pytest.mark.slow
def test_a_reader_can_type_the_first_commands_of_every_page(
    after_the_demo: Path, forking_shell: Mapping[str, str]
) -> None:
    write_code(README, after_the_demo)
    _run_readme(after_the_demo, forking_shell)
    for page in in_reading_order():
        write_code(page, after_the_demo)
        for command in first_commands(page):
            typed = _serve if command.startswith("rewardkit serve") else _type
            if said := typed(command, after_the_demo, forking_shell):
                pytest.fail(f"{page.name}: {command}\n{said}")


def _run_readme(folder: Path, shell: Mapping[str, str]) -> None:
    """Run the README's commands top to bottom in one shell, at a free port in place of 8000."""
    install, *rest = script(README).partition("rewardkit prep")
    assert install.splitlines()[1] == "pip install --editable '.[server]'"
    typed = "set -em\n" + "".join(rest).replace("8000", str(own_port()))
    done = subprocess.run(["bash", "-c", typed], cwd=folder, env=shell, stdout=PIPE, stderr=STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count('"score":1.0') == 1 and (folder / "report.html").stat().st_size > 10_000, (
        done.stdout
    )


def _type(command: str, folder: Path, shell: Mapping[str, str]) -> str:
    """Run a command, in a process that is forked with torch in it; return what it said if it failed."""
    program, *words = shlex.split(command, comments=True)
    if program == "python":
        program = words.pop(0).removesuffix(".py")
    elif "n_gpus_per_node" in command:  # the processes that it starts are forked, too
        program = words.pop(0).replace("train", "tests.trainer.forked_launch")
    started = Program(program, *words, folder=folder, environment=shell)
    said = started.communicate(timeout=600)
    return "\n".join(said) if started.poll() else ""


def _serve(command: str, folder: Path, shell: Mapping[str, str]) -> str:
    """Start a server, on a port that is free, and end it once it answers; return what it said if it did not
    listen or did not end well."""
    typed = f"exec {command} --port 0"
    with subprocess.Popen(
        typed, shell=True, cwd=folder, env=shell, stdout=PIPE, stderr=STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        said = ""
        try:
            for line in server.stdout:
                said += line
                if found := re.search(r"serves at (http://[^ ]+)", line):
                    until(lambda url=f"{found[1]}/healthz": httpx.get(url, timeout=60).status_code == 200)
                    server.terminate()
        finally:  # if it does not answer, too: the block would wait for it for ever
            server.terminate()
    return said if server.returncode or "serves at http://" not in said else ""
