"""Answers of judges that are kept by their question: in memory, or in a SQLite file that processes share.

Answers are kept rather than verdicts: how they are read changes more often than the judge. Failures are not
kept.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError

FORM = 1
"""Rises when what is kept of an answer changes."""

MOST_IN_MEMORY = 50_000
"""Answers that are kept in memory; the oldest go first. A file keeps all."""

_BUSY_S = 30.0
"""How long to wait for another process that writes."""


class JudgeAnswer(msgspec.Struct, frozen=True):
    """What a model said, and what it took."""

    text: str
    tokens: list[tuple[str, list[tuple[str, float]]]] | None = None
    """Each token with the likeliest in its place and their log-probabilities, where they were asked for."""
    input_tokens: int = 0
    output_tokens: int = 0


_decoder = msgspec.json.Decoder(JudgeAnswer)


class AnswerCache:
    """Answers by the digest of their question.

    Args:
        path: a SQLite file; `memory`: kept as long as this object.

    Raises:
        InputError: the file cannot be used.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            if path != "memory":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(":memory:" if path == "memory" else path, timeout=_BUSY_S)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (question TEXT PRIMARY KEY, answer BLOB)")
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"cannot use {path} as the judge's cache: {error}") from None

    def get(self, question: str) -> JudgeAnswer | None:
        """Return the answer to a question, if it is known."""
        found = self._file.execute("SELECT answer FROM answers WHERE question = ?", (question,)).fetchone()
        return _decoder.decode(found[0]) if found else None

    def put(self, question: str, answer: JudgeAnswer) -> None:
        """Keep an answer."""
        with self._file:
            self._file.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)", (question, msgspec.json.encode(answer))
            )
            if self.path == "memory":
                self._file.execute(
                    "DELETE FROM answers WHERE rowid <= (SELECT max(rowid) FROM answers) - ?",
                    (MOST_IN_MEMORY,),
                )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def digest_of(address: str, body: dict[str, Any]) -> str | None:
    """Return what a question is known by; None for one that is to be answered anew each time.

    Args:
        address: of the server, without name and password.
        body: the whole request. At a temperature above 0 its answer is drawn, and the same only with a
        `seed`.
    """
    if body.get("temperature") and body.get("seed") is None:
        return None
    return hashlib.sha256(json.dumps([FORM, address, body], sort_keys=True).encode()).hexdigest()
