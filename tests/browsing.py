"""A headless Chromium for the tests of pages, as patient as a busy machine needs; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_MS = 300_000

_OVERPRINTED = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const around = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const cut = texts.filter(([, box]) => box.left < around.left - 0.5 || box.right > around.right + 0.5 || box.bottom > around.bottom + 1);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const touching = texts.flatMap(([said, a], i) => texts.slice(i + 1).filter(([, b]) => !apart(a, b)).map(([other]) => `${said} on ${other}`));
  return [...touching, ...cut.map(([said]) => `${said} cut`)];
})"""


@contextmanager
def open_tab() -> Iterator[Any]:
    """One page for all tests of a file: for another, Chromium starts a process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    sync_api.expect.set_options(timeout=PATIENCE_MS)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE_MS
        )
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()
        browser.close()


@contextmanager
def heard(tab: Any, event: str, note: Callable[[Any], object]) -> Iterator[None]:
    """Have `note` called with each event of a page meanwhile."""
    tab.on(event, note)
    try:
        yield
    finally:
        tab.remove_listener(event, note)


def too_wide(tab: Any) -> list[int]:
    """Of the widths of a telephone, a tablet and a desk in pixels, those in which the page scrolls sideways."""
    screen = tab.viewport_size
    found = []
    for width in (375, 768, 1280):
        tab.set_viewport_size({"width": width, "height": 800})
        if not tab.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found.append(width)
    tab.set_viewport_size(screen)
    return found


def overprinted(tab: Any) -> list[str]:
    """Labels in pictures of which one touches another, or which are cut off."""
    found: list[str] = tab.evaluate(_OVERPRINTED)
    return found


def expect(locator: Any) -> Any:
    """What a locator must come to be: `expect(...).to_have_text(...)`. Works under a page's policy, which runs no
    script of a test that waits."""
    return pytest.importorskip("playwright.sync_api").expect(locator)
