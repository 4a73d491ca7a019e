"""Draws the pictures of README and docs from the pages that they show, with a headless Chromium.

    python docs/pictures/draw.py            # into docs/pictures; `make pictures` does the same

Each page has a picture as on a desk (`report.png`) and as on a telephone (`report_390.png`). The page of a
run is made from the recorded run in `tests/data/run`. Needs the packages playwright and pillow and a Chromium
(Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

HEIGHTS = {"report": 820, "server": 900, "view": 760, "run": 900, "audit": 820}
"""Heights of the pictures in pixels, by page."""
WIDTHS = {1100: "", 390: "_390"}
"""Ends of the pictures' names by their widths in pixels."""
COLOURS = 128
RUN = Path(__file__).parents[2] / "tests/data/run"


def rewardkit(*words: str, folder: Path) -> None:
    """Run a command quietly in a folder."""
    subprocess.run(
        [sys.executable, "-m", "rewardkit", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


@contextmanager
def pages(folder: Path) -> Iterator[dict[str, str]]:
    """Make the pages for the pictures; yield the address of each by the picture's name."""
    rewardkit("score", "sample://responses.jsonl", "--out", "scored.jsonl", folder=folder)
    rewardkit("eval", "scored.jsonl", "--report", "report.html", folder=folder)
    rewardkit("view", "scored.jsonl", "--html", "view.html", folder=folder)
    rewardkit("audit", "sample://responses.jsonl", "--html", "audit.html", folder=folder)
    shutil.copytree(RUN, folder / "recorded")
    rewardkit("view", "recorded", "--html", "run.html", folder=folder)
    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        found = next(filter(None, (re.search(r"http://[\w.:]+", line) for line in server.stdout)))
        files = {name: (folder / f"{name}.html").as_uri() for name in HEIGHTS if name != "server"}
        yield files | {"server": found[0]}
        server.terminate()


def draw(out: Path) -> None:
    """Draw every picture into a folder.

    Raises:
        RuntimeError: A page is wider than the screen of a telephone, so that it would scroll sideways.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as name,
        pages(Path(name)) as addresses,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        for page, address in addresses.items():
            tab.goto(address, wait_until="networkidle")
            if page == "server":
                tab.select_option("#example", index=2)
                tab.click("#go")
                tab.wait_for_selector(".verdict")
            for width, end in WIDTHS.items():
                tab.set_viewport_size({"width": width, "height": HEIGHTS[page]})
                if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    raise RuntimeError(f"the page {page} is wider than {width} pixels")
                save(tab, out / f"{page}{end}.png")
        browser.close()


def save(tab: Any, path: Path) -> None:
    """Write what a tab shows as a picture with few colours, which makes the file small."""
    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(__file__).parent)
