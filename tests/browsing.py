"""A headless Chromium for the tests of pages, as patient as a busy machine needs; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_MS = 300_000


@contextmanager
def open_browser() -> Iterator[Any]:
    """Where pages are opened, with `new_page()`."""
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
        yield context
        browser.close()


def expect(locator: Any) -> Any:
    """What a locator must come to be: `expect(...).to_have_text(...)`. Works under a page's policy, which runs no
    script of a test that waits."""
    return pytest.importorskip("playwright.sync_api").expect(locator)
