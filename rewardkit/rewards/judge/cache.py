"""Cache for judges' answers, in memory or in a SQLite file that processes share.

The cache stores answers and not verdicts, because the code that parses answers changes more often than the
judge. Failures and answers without a verdict are not stored.
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
"""Version of the format of stored answers. Increase it when the format changes."""

MOST_IN_MEMORY = 50_000
"""Maximum number of answers in memory. The oldest answers are dropped first. A file keeps all answers."""

_BUSY_S = 30.0
"""Time to wait while another process writes to the file, in seconds."""


class JudgeAnswer(msgspec.Struct, frozen=True):
    """A model's answer."""

    text: str
    tokens: list[tuple[str, list[tuple[str, float]]]] | None = None
    """Each token with the most likely alternatives and their log-probabilities, or None if not requested."""


_decoder = msgspec.json.Decoder(JudgeAnswer)


class AnswerCache:
    """Cache of answers, keyed by the digest of the question.

    Args:
        path: Path of a SQLite file, or `memory` to keep answers for the lifetime of this object.

    Raises:
        InputError: The file cannot be used.
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
        """Return the cached answer to a question, or None."""
        found = self._file.execute("SELECT answer FROM answers WHERE question = ?", (question,)).fetchone()
        return _decoder.decode(found[0]) if found else None

    def put(self, question: str, answer: JudgeAnswer) -> None:
        """Store the answer to a question."""
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
        """Close the SQLite file."""
        self._file.close()


def digest_of(address: str, body: dict[str, Any]) -> str | None:
    """Return the cache key for a question, or None if the answer must not be cached.

    Args:
        address: Address of the server, without user name or password.
        body: Whole request. At a temperature above 0, the answer is cached only if the request has a `seed`,
            because the answer is random without a seed.
    """
    if body.get("temperature") and body.get("seed") is None:
        return None
    return hashlib.sha256(json.dumps([FORM, address, body], sort_keys=True).encode()).hexdigest()
