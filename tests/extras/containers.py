"""A container tool that runs, and an image for it that is made of this machine's own programs."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from rewardkit.errors import InputError
from rewardkit_extras.harbor.container_box import container_tool

IMAGE = "localhost/rewardkit-test:2"
_PROGRAMS = ("bash", "cat", "chmod", "head", "mkdir", "ps", "rm", "sleep", "tail", "touch", "tr")


def tool_that_runs() -> str:
    """The path of the container tool, after making IMAGE. Skips the test where no container can run."""
    try:
        tool = container_tool()
    except InputError as error:
        pytest.skip(str(error))
    if called(tool, "image", "inspect", IMAGE).returncode:
        made = subprocess.run([tool, "import", "-", IMAGE], input=_system(), capture_output=True)
        if made.returncode:
            pytest.skip(f"{tool} cannot import an image: {made.stderr.decode()[-300:]}")
    tried = called(
        tool, "run", "--rm", "--network", "none", "--memory", "64m", "--cpus", "1", IMAGE, "bash", "-c", ":"
    )
    if tried.returncode:
        pytest.skip(f"{tool} cannot run a container: {tried.stderr[-300:]}")
    return tool


def called(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool, *words], capture_output=True, text=True, timeout=120)


def containers(tool: str) -> list[str]:
    """The names of the containers of Harbor tasks, running or not."""
    done = called(tool, "ps", "-a", "--filter", "label=rewardkit=harbor", "--format", "{{.Names}}")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _system() -> bytes:
    """An archive with a few programs and the libraries that they load."""
    paths = {f"bin/{name}": Path(str(shutil.which(name))) for name in _PROGRAMS}
    for path in [*paths.values()]:
        linked = subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout
        paths |= {found[1:]: Path(found) for found in re.findall(r"/\S+", linked)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, path in paths.items():
            archive.add(path.resolve(), name)
        link = tarfile.TarInfo("bin/sh")
        link.type, link.linkname = tarfile.SYMTYPE, "bash"
        archive.addfile(link)
    return packed.getvalue()
