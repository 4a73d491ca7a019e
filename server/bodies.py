"""The body of a request while it comes in: counted, in time, and inflated where it is compressed."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import Message

from rewardkit.server.admission import Admission
from rewardkit.server.request import CurrentRequest

ENCODINGS = {b"gzip": 31, b"x-gzip": 31, b"deflate": 47}
"""What `Content-Encoding` may say, and zlib's number for it."""

_MAX_DIGITS = 20
"""Of a length: it is far too large with as many, and int() takes long over many more."""

_PIECE_BYTES = 1 << 20
"""Of inflated data handed on at a time: a small piece that comes in may hold a thousand times as much."""


class Patience:
    """Timeouts of request bodies: cancels tasks that wait longer than `seconds` for a piece of one.

    One timer for all bodies: few are waited for, and a timer each would cost every request.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waiting: dict[Body, tuple[float, asyncio.Task[object]]] = {}
        """Since when, the oldest first."""
        self._armed = False

    def begin(self, body: Body) -> None:
        """Start the timeout: the running task waits for a piece of this body."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[body] = time.monotonic(), task
        if not self._armed:
            self._armed = True
            asyncio.get_running_loop().call_later(self.seconds, self._look)

    def end(self, body: Body) -> None:
        """End the timeout of a body."""
        del self._waiting[body]

    def _look(self) -> None:
        now = time.monotonic()
        for body, (since, task) in self._waiting.items():
            if since + self.seconds > now:
                asyncio.get_running_loop().call_later(since + self.seconds - now, self._look)
                return
            if not body.too_slow:
                body.too_slow = True
                task.cancel()
        self._armed = False


class Body:
    """One request's body.

    Args:
        max_bytes: a larger one gets 413, whether it announces its length or not, and as it is once inflated.
        patience: how long each piece may take to arrive.
        streamed: scored line by line as it comes in: never held as a whole, so its length does not matter.
    """

    def __init__(
        self,
        request: CurrentRequest,
        admission: Admission,
        headers: Mapping[bytes, bytes],
        *,
        max_bytes: int,
        patience: Patience,
        streamed: bool,
    ) -> None:
        self.request = request
        self.admission = admission
        self.max_bytes = max_bytes
        self.patience = patience
        self.streamed = streamed
        length = headers.get(b"content-length", b"")
        self.declared = int(length[:_MAX_DIGITS]) if length.isdigit() and not streamed else 0
        self.encoding = headers.get(b"content-encoding")
        self._inflating: _Inflating | None = None
        self._came = 0
        self._held = 0
        self.too_slow = False

    def open(self) -> None:
        """Reserve the bytes that the headers announce.

        Raises:
            HTTPException: it is too large, or in an encoding that is not read here.
            OverloadedError: too much is held already.
        """
        if self.declared > self.max_bytes:
            raise HTTPException(413, self.too_large())
        if self.encoding is not None and self.encoding.lower() != b"identity":
            window = ENCODINGS.get(self.encoding.lower())
            if window is None:
                raise HTTPException(415, "Content-Encoding may be gzip or deflate")
            self._inflating = _Inflating(window)
        self.take(self.declared)

    def take(self, n: int) -> None:
        """Reserve bytes that are held for this request."""
        self.admission.take_bytes(n)
        self._held += n

    def release(self) -> None:
        """Release all bytes reserved for this request."""
        self.admission.give_back_bytes(self._held)

    async def receive(self) -> Message:
        """Pass on what comes in, within the limits.

        Raises:
            HTTPException: the body is too large, takes too long, or cannot be inflated.
            OverloadedError: too much is held already.
        """
        request = self.request
        if request.body_read:
            message = await request.receive()
        elif self._inflating is not None:
            message = await self._inflated(self._inflating)
        else:
            message = await self._in_time()
        if message["type"] == "http.disconnect":
            request.gone = True
        elif not request.body_read:
            self._came += len(message.get("body", b""))
            request.body_read = not message.get("more_body", False)
            if not self.streamed:
                if self._came > self.max_bytes:
                    raise HTTPException(413, self.too_large(), {"connection": "close"})
                if self._came > self._held:
                    self.take(self._came - self._held)
        return message

    def too_large(self) -> str:
        """What to say about a body that is over the limit."""
        return f"the body is over {self.max_bytes >> 20} MiB; send smaller batches"

    async def _inflated(self, inflating: _Inflating) -> Message:
        if not inflating.waiting:
            message = await self._in_time()
            if message["type"] != "http.request":
                return message
            inflating.waiting = message.get("body", b"")
            inflating.ended = not message.get("more_body", False)
        return {"type": "http.request", "body": inflating.piece(), "more_body": inflating.has_more()}

    async def _in_time(self) -> Message:
        """What comes in next."""
        self.patience.begin(self)
        try:
            return await self.request.receive()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.too_slow or task is None:
                raise
            task.uncancel()
            raise HTTPException(408, "the body took too long to arrive") from None
        finally:
            self.patience.end(self)


class _Inflating:
    """A compressed body; several gzip members after one another are one body."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.inflater = zlib.decompressobj(window)
        self.waiting = b""
        """Came in and is not inflated yet."""
        self.ended = False
        """Nothing more will come in."""

    def piece(self) -> bytes:
        """Inflate the next piece.

        Raises:
            HTTPException: this is not what the header says.
        """
        if self.inflater.eof and self.waiting:
            self.inflater = zlib.decompressobj(self.window)
        try:
            found = self.inflater.decompress(self.waiting, _PIECE_BYTES)
        except zlib.error as error:
            raise HTTPException(422, f"the body cannot be inflated: {error}") from None
        self.waiting = self.inflater.unconsumed_tail or self.inflater.unused_data
        if not self.has_more() and not self.inflater.eof:
            raise HTTPException(422, "the compressed body ends in the middle")
        return found

    def has_more(self) -> bool:
        """True when there is more to inflate, or to come."""
        return bool(self.waiting) or not self.ended
