"""The body of a request while it comes in: counted, and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import Message

from rewardkit.server.admission import Admission
from rewardkit.server.request import CurrentRequest

BODY_TIMEOUT_S = 60.0
"""How long each piece of a body may take to arrive."""

_MAX_DIGITS = 20
"""Of a length: it is far too large with as many, and int() takes long over many more."""


class Body:
    """One request's body.

    Args:
        max_bytes: a larger one gets 413, whether it announces its length or not.
        streamed: scored line by line as it comes in: never held as a whole, so its length does not matter.
    """

    def __init__(
        self,
        request: CurrentRequest,
        admission: Admission,
        headers: Mapping[bytes, bytes],
        *,
        max_bytes: int,
        streamed: bool,
    ) -> None:
        self.request = request
        self.admission = admission
        self.max_bytes = max_bytes
        self.streamed = streamed
        length = headers.get(b"content-length", b"")
        self.declared = int(length[:_MAX_DIGITS]) if length.isdigit() and not streamed else 0
        self.encoding = headers.get(b"content-encoding", b"identity")
        self._came = 0
        self._held = 0

    def open(self) -> None:
        """Reserve the bytes that the headers announce.

        Raises:
            HTTPException: it is too large, or compressed.
            OverloadedError: too much is held already.
        """
        if self.declared > self.max_bytes:
            raise HTTPException(413, self.too_large())
        if self.encoding.lower() != b"identity":
            raise HTTPException(415, "bodies are read as they are: send it without Content-Encoding")
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
            HTTPException: the body is too large, or takes too long.
            OverloadedError: too much is held already.
        """
        request = self.request
        message = await (request.receive() if request.body_read else self._in_time())
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

    async def _in_time(self) -> Message:
        """What comes in next."""
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                return await self.request.receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long to arrive") from None
