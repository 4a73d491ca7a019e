"""How the server's processes work together: each can query what another holds, and limits are shared.

They talk over Unix sockets in a folder that only this user can open, and write what they hold into one small
file. With one process there is nothing of this.
"""

from __future__ import annotations

import asyncio
import inspect
import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import OverloadedError

_ANSWER_WITHIN_S = 2.0
"""Where all are asked, whoever asks goes on without those that take longer."""

_HOLDER_ANSWERS_WITHIN_S = 20.0
"""The same for the one that holds what is asked for: on a machine that is too busy it may take its time, and
nobody else can answer."""

_MAX_LINE_BYTES = 1 << 24
_LOAD = struct.Struct("qq")

SiblingAnswers = Mapping[str, Callable[[Any], Any]]
"""What siblings may ask, by name; arguments and answers are JSON-ready. An answer may be awaited for."""


@dataclass(frozen=True, slots=True)
class Siblings:
    """The processes of one server, as one of them sees them.

    Args:
        folder: theirs alone.
        place: this one's number.
        n: how many there are.
        patience_s: how long the one that holds what is asked for may take.
    """

    folder: Path
    place: int
    n: int
    patience_s: float = _HOLDER_ANSWERS_WITHIN_S

    async def listen(self, answers: SiblingAnswers) -> asyncio.Server:
        """Answer the others' questions until the server that is returned is closed."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                name, argument = msgspec.json.decode(await reader.readline())
                answer = answers[name](argument)
                if inspect.isawaitable(answer):
                    answer = await answer
                writer.write(msgspec.json.encode(answer) + b"\n")
                await writer.drain()
            except (OSError, ValueError, KeyError):
                pass  # who asked goes on without an answer
            finally:
                writer.close()

        path = self._socket(self.place)
        path.unlink(missing_ok=True)  # of the process that was here before and was killed
        return await asyncio.start_unix_server(connected, path, limit=_MAX_LINE_BYTES)

    async def ask(self, place: int, name: str, argument: Any = None, within_s: float | None = None) -> Any:
        """Query one process; None if it has ended.

        Raises:
            OverloadedError: it is there and does not answer in time: what it holds is not lost.
        """
        try:
            async with asyncio.timeout(within_s or self.patience_s):
                path = self._socket(place)
                reader, writer = await asyncio.open_unix_connection(path, limit=_MAX_LINE_BYTES)
                try:
                    writer.write(msgspec.json.encode((name, argument)) + b"\n")
                    return msgspec.json.decode(await reader.readline())
                finally:
                    writer.close()
        except TimeoutError:
            raise OverloadedError("the server process that holds this is too busy to answer", 2.0) from None
        except (OSError, ValueError):
            return None

    async def ask_others(self, name: str, argument: Any = None) -> list[Any]:
        """Query all other processes; return the answers that came."""
        others = [place for place in range(self.n) if place != self.place]
        answers = await asyncio.gather(*(self._ask_one_of_all(place, name, argument) for place in others))
        return [answer for answer in answers if answer is not None]

    async def _ask_one_of_all(self, place: int, name: str, argument: Any) -> Any:
        try:
            return await self.ask(place, name, argument, _ANSWER_WITHIN_S)
        except OverloadedError:
            return None

    def _socket(self, place: int) -> Path:
        return self.folder / f"{place}.sock"


class SharedLoad:
    """Samples and bytes that the processes hold, each in a slot of its own of one file."""

    def __init__(self, siblings: Siblings) -> None:
        self._place = siblings.place
        self._n = siblings.n
        path = siblings.folder / "load"
        path.touch()
        with path.open("r+b") as file:
            file.truncate(_LOAD.size * self._n)
            self._slots = mmap.mmap(file.fileno(), _LOAD.size * self._n)
        self.write(0, 0)  # what the process before us held, it holds no more

    def write(self, samples: int, n_bytes: int) -> None:
        """Publish what this process holds."""
        _LOAD.pack_into(self._slots, self._place * _LOAD.size, samples, n_bytes)

    def others(self) -> tuple[int, int]:
        """Samples and bytes that the other processes hold."""
        samples = n_bytes = 0
        for place in range(self._n):
            if place != self._place:
                held = _LOAD.unpack_from(self._slots, place * _LOAD.size)
                samples += held[0]
                n_bytes += held[1]
        return samples, n_bytes
