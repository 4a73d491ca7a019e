"""SQL, run by SQLite in the jail's Python. The program is embedded as text in a Python script.

Standard input is also SQL, and creates the tables and their rows before the program runs. Each result row is
printed as one line with columns separated by `|`, as the `sqlite3` command does.
"""

from __future__ import annotations

from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain
from rewardkit.sandbox.outcome import Limits

_SCRIPT = """
import sqlite3, sys

def text(value):
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        value, = database.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()
    return str(value).encode("utf-8", "surrogateescape")

def statements(script):
    rest = ""
    for piece in script.split(";")[:-1]:
        rest += piece + ";"
        if sqlite3.complete_statement(rest):
            yield rest
            rest = ""
    rest += script.rpartition(";")[2]
    if rest.strip():
        yield rest

def play(script):
    for statement in statements(script):
        try:
            for row in database.execute(statement):
                sys.stdout.buffer.write(b"|".join(map(text, row)) + b"\\n")
        except (sqlite3.Error, sqlite3.Warning) as error:
            sys.stdout.buffer.flush()
            sys.exit(f"Error: {error} in: {statement.strip()[:200]}")

database = sqlite3.connect(":memory:", isolation_level=None)
database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
play(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
play(PROGRAM)
"""


def _discover() -> Toolchain:
    try:
        import sqlite3
    except ImportError:
        raise LanguageUnavailable(
            "Python was built without sqlite3; use a Python that was built with SQLite"
        ) from None

    def run(source: str, limits: Limits) -> LanguageCommand:
        return LanguageCommand(script=_SCRIPT.replace("PROGRAM", repr(source)), tools=False)

    return Toolchain(f"SQLite {sqlite3.sqlite_version}", (), run)


SQL = Language(
    "sql",
    "SQL (SQLite)",
    ("sqlite", "sqlite3"),
    _discover,
    "SELECT x + 1 FROM given;",
    startup_s=0.1,
    hello_input="CREATE TABLE given (x); INSERT INTO given VALUES (41);",
)
