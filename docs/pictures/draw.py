"""Draws the pictures of README and docs from the pages that they show, with a headless Chromium.

    python docs/pictures/draw.py            # into docs/pictures; `make pictures` does the same

Needs the package playwright and a Chromium (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

HEIGHTS = {"report": 820, "server": 960}
"""Heights of the pictures in pixels; all are 1200 wide."""


def rewardkit(*words: str, folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "rewardkit", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


@contextmanager
def pages(folder: Path) -> Iterator[dict[str, str]]:
    """Make the pages for the pictures; yield the address of each by the picture's name."""
    rewardkit("score", "sample://responses.jsonl", "--out", "scored.jsonl", folder=folder)
    rewardkit("eval", "scored.jsonl", "--report", "report.html", folder=folder)
    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        found = next(filter(None, (re.search(r"http://[\w.:]+", line) for line in server.stdout)))
        yield {"report": (folder / "report.html").as_uri(), "server": found[0]}
        server.terminate()


def draw(out: Path) -> None:
    """Draw every picture into a folder."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as name,
        pages(Path(name)) as addresses,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for picture, address in addresses.items():
            tab = browser.new_page(viewport={"width": 1200, "height": HEIGHTS[picture]})
            tab.goto(address, wait_until="networkidle")
            if picture == "server":
                tab.select_option("#example", index=2)
                tab.click("#go")
                tab.wait_for_selector(".verdict")
            tab.screenshot(path=out / f"{picture}.png")
        browser.close()


if __name__ == "__main__":
    draw(Path(__file__).parent)
