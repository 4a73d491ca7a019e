"""Web page about a run.

A thread rewrites the page from files on disk, so that training steps need not wait.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.evaluation.html.run_page import ALARMS, SAMPLES, write_run_page
from rewardkit.evaluation.pictures import PromptPictures

REFRESH_S = 5.0
"""Minimum time between two updates of the page, in seconds."""
SHARE = 20
"""Minimum time between two updates, as a multiple of the time to write the page (1 s in a long run)."""
TRIES = 3
"""Number of consecutive failures after which the thread stops writing the page. Single failures are
tolerated, because another process may be writing the page."""
LONGEST = 4_000
"""Maximum length of a stored text, in characters."""


class PageSink:
    """Sink that writes `metrics.html` next to `metrics.jsonl`, and shown responses to `samples.jsonl`."""

    def __init__(self, folder: Path, total_steps: int) -> None:
        self._folder = folder
        self._total = total_steps
        self._pictures = PromptPictures()
        self._reasons: list[str] = []
        self._new = threading.Event()
        self._ended = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._keep_fresh, name="page", daemon=True)
        self._thread.start()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Request an update of the page. The metrics are already in `metrics.jsonl`."""
        self._raise()
        self._new.set()

    def reasons(self, lines: Sequence[str]) -> None:
        """Store the reasons why responses score nothing, to be shown with the next responses."""
        self._reasons = [_text(line) for line in lines]

    def responses(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """Store some responses from a training step, with thumbnails of the run's first pictures."""
        shown = [{**_cut(row), "prompt": self._pictures.prompt(row)} for row in rows]
        self._keep({"step": step, **self._taken_reasons(), "rows": shown})

    def generations(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """Store some responses from a validation, and the reasons given for it."""
        reasons = self._taken_reasons()
        if rows or reasons:
            self._keep({"step": step, "kind": "validation", **reasons, "rows": [_cut(row) for row in rows]})

    def _taken_reasons(self) -> dict[str, list[str]]:
        """Return and delete the stored reasons."""
        reasons, self._reasons = self._reasons, []
        return {"reasons": reasons} if reasons else {}

    def alarms(self, begun: Mapping[str, str], step: int) -> None:
        """Store alarm messages, given by rule, and request an update of the page."""
        with (self._folder / ALARMS).open("a", encoding="utf-8") as file:
            for rule, line in begun.items():
                file.write(json.dumps({"step": step, "rule": rule, "line": line}) + "\n")
        self._new.set()

    def close(self) -> None:
        """Stop the thread, and write the page for the last time."""
        self._ended.set()
        self._new.set()
        self._thread.join()
        if self._error is None and (self._folder / "metrics.jsonl").exists():
            write_run_page(self._folder, total_steps=self._total)
        self._raise()

    def _keep(self, kept: dict[str, Any]) -> None:
        try:
            line = msgspec.json.encode(kept, enc_hook=str)
        except UnicodeEncodeError:  # A lone surrogate cannot be encoded.
            line = json.dumps(kept, ensure_ascii=False, default=str).encode("utf-8", "replace")
        with (self._folder / SAMPLES).open("ab") as file:
            file.write(line + b"\n")

    def _keep_fresh(self) -> None:
        failed = 0
        while self._new.wait() and not self._ended.is_set():
            self._new.clear()
            began = time.monotonic()
            try:
                write_run_page(self._folder, total_steps=self._total, running=True)
                failed = 0
            except Exception as error:
                failed += 1
                if failed == TRIES:
                    self._error = error  # The next step raises the error, because this thread has no caller.
                    return
            self._ended.wait(max(REFRESH_S, SHARE * (time.monotonic() - began)))

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


def _cut(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with long texts shortened."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n[...]\n{text[-LONGEST // 2 :]}"
