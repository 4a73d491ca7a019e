"""A game behind both wires, the Open Reward Standard and OpenEnv, in a thread: guess a digit.

A right guess is worth 1 and ends it, a near one 0.5. What is no digit is the model's fault. The guess `die`
drops the connection, `fail` is the game's own failure, `hang` never answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from aiohttp import WSMsgType, web

TOOL = {
    "name": "guess",
    "description": "Guess the digit.",
    "input_schema": {"type": "object", "properties": {"digit": {"type": "string"}}, "required": ["digit"]},
}
ACTION = {
    "type": "object",
    "properties": {"digit": {"type": "string"}, "metadata": {"type": "object"}},
    "required": ["digit"],
}


class Game:
    """What one guess comes to, and what was asked for."""

    def __init__(self) -> None:
        self.opened: list[Any] = []
        self.closed = 0
        self.guesses: list[str] = []
        self.plain = False
        """Take plain messages too."""
        self.fails = "fail"
        """Guess at which the game breaks."""
        self.most: int | None = None
        """Sessions at once, as OpenEnv's servers limit them."""
        self.at_once = 0
        self.refused = 0
        self.tools: list[dict[str, Any]] = []
        """Tools of an OpenEnv server, whose results are MCP's."""
        self.action = ACTION

    async def guess(self, wanted: int, said: str) -> tuple[str, float | None, bool]:
        self.guesses.append(said)
        if said == "hang":
            await asyncio.sleep(3600)
        if said == self.fails:
            raise RuntimeError("the game broke")
        if not (said.isdigit() and len(said) == 1):
            raise ValueError("a guess is one digit")
        far = abs(int(said) - wanted)
        return ("Right!", 1.0, True) if not far else ("No.", 0.5 if far == 1 else 0.0, False)


class GameServer:
    def __init__(self) -> None:
        self.game = Game()
        self.sessions: dict[str, int] = {}
        self.created = 0
        self.url = ""

    # The Open Reward Standard

    async def names(self, request: web.Request) -> web.Response:
        return web.json_response(["digits"])

    async def session(self, request: web.Request) -> web.Response:
        self.created += 1
        events = f"event: task_id\r\ndata: s{self.created}\r\n\r\nevent: end\r\ndata:\r\n\r\n"
        return web.Response(text=events, content_type="text/event-stream")

    async def create(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.game.opened.append(body)
        self.sessions[request.headers["X-Session-ID"]] = body["index"]
        return web.json_response({})

    async def prompt(self, request: web.Request) -> web.Response:
        return web.json_response([{"type": "text", "text": "Which digit?"}])

    async def tools(self, request: web.Request) -> web.Response:
        terminal = {"name": "guess", "arg": "digit"} if self.game.plain else None
        return web.json_response({"tools": [TOOL], "terminal_tool": terminal})

    async def call(self, request: web.Request) -> web.StreamResponse:
        said = (await request.json())["input"].get("digit", "")
        if said == "die":
            assert request.transport is not None
            request.transport.abort()
        try:
            text, reward, done = await self.game.guess(self.sessions[request.headers["X-Session-ID"]], said)
        except ValueError as error:
            outcome: dict[str, Any] = {"ok": False, "reason": "input_validation", "error": str(error)}
        except RuntimeError as error:
            return web.Response(text=f"event: error\r\ndata: {error}\r\n\r\n")
        else:
            block = {"type": "text", "text": text}
            outcome = {"ok": True, "output": {"blocks": [block], "reward": reward, "finished": done}}
        return web.Response(
            text=f"event: task_id\r\ndata: t\r\n\r\nevent: end\r\ndata: {json.dumps(outcome)}\r\n\r\n"
        )

    async def delete(self, request: web.Request) -> web.Response:
        self.game.closed += request.path == "/delete"
        return web.json_response({})

    # OpenEnv

    async def schema(self, request: web.Request) -> web.Response:
        return web.json_response({"action": self.game.action, "observation": {}, "state": {}})

    async def socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if self.game.most is not None and self.game.at_once >= self.game.most:
            self.game.refused += 1
            data = {"message": "full", "code": "CAPACITY_REACHED", "max_sessions": self.game.most}
            await socket.send_json({"type": "error", "data": data})
            await socket.close()
            return socket
        self.game.at_once += 1
        try:
            return await self._session(socket)
        finally:
            self.game.at_once -= 1

    async def _session(self, socket: web.WebSocketResponse) -> web.WebSocketResponse:
        wanted = 0
        async for message in socket:
            if message.type != WSMsgType.TEXT:
                break
            said = json.loads(message.data)
            if said["type"] == "close":
                break
            if said["type"] == "reset":
                self.game.opened.append(said["data"])
                wanted = said["data"].get("seed", 0)
                shown = {"question": "Which digit?", "hint": None}
                answer: Any = {
                    "type": "observation",
                    "data": {"observation": shown, "reward": None, "done": False},
                }
            elif said["type"] == "step" and said["data"].get("type") == "call_tool":
                answer = _tool_answer(said["data"])
            elif said["type"] == "step":
                answer = await self._step(socket, wanted, str(next(iter(said["data"].values()))))
            elif said["type"] == "mcp" and self.game.tools:
                answer = {"type": "mcp", "data": {"result": {"tools": self.game.tools}}}
            else:
                answer = {"type": "error", "data": {"message": "?", "code": "UNKNOWN_TYPE"}}
            if answer is None:
                break
            await socket.send_json(answer)
        self.game.closed += 1
        return socket

    async def _step(self, socket: web.WebSocketResponse, wanted: int, said: str) -> Any:
        if said == "die":
            return None
        try:
            text, reward, done = await self.game.guess(wanted, said)
        except ValueError as error:
            return {"type": "error", "data": {"message": str(error), "code": "VALIDATION_ERROR"}}
        except RuntimeError as error:
            return {"type": "error", "data": {"message": str(error), "code": "EXECUTION_ERROR"}}
        return {
            "type": "observation",
            "data": {"observation": {"text": text}, "reward": reward, "done": done},
        }


def _tool_answer(asked: dict[str, Any]) -> dict[str, Any]:
    """A step that calls a tool, which says its argument again, or fails."""
    said = str(asked["arguments"].get("digit"))
    result = {
        "content": [{"type": "text", "text": said}],
        "structured_content": {"result": said},
        "data": said,
    }
    error = {"error_type": "execution_error", "message": "no such digit"} if said == "fail" else None
    shown = {"tool_name": asked["tool_name"], "result": None if error else result, "error": error}
    return {"type": "observation", "data": {"observation": shown, "reward": 1.0, "done": False}}


@contextlib.contextmanager
def game_server() -> Iterator[GameServer]:
    """A running server."""
    server = GameServer()
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.add_routes(
        [
            web.get("/list_environments", server.names),
            web.post("/create_session", server.session),
            web.post("/create", server.create),
            web.get("/digits/prompt", server.prompt),
            web.get("/digits/task_tools", server.tools),
            web.post("/digits/call", server.call),
            web.post("/delete", server.delete),
            web.post("/delete_session", server.delete),
            web.get("/schema", server.schema),
            web.get("/ws", server.socket),
        ]
    )
    runner = web.AppRunner(app, shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
