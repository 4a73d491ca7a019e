"""Tools on MCP servers, called through the official package (extra `mcp`, version 2 or newer).

Servers are reached over stdio or streamable HTTP. All episodes in a process share one connection to each
server. Connections run in an event loop in a separate thread, so that they can be opened before any other
loop runs and used from any loop. A broken connection is reopened at the next call.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import importlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.agents.tools.arguments import fit
from rewardkit.agents.tools.declare import ToolKind, ToolParts, function_schema
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError, MissingDependencyError, did_you_mean
from rewardkit.http_addresses import Address, made_private, revealed
from rewardkit.json_objects import NOT_JSON
from rewardkit.reward_options import check_timeout

_SETTINGS = ("mcp_servers_config_path", "servers", "tool_selected_list", "timeout_s")
CONNECT_S = 60.0
"""Time limit in seconds for opening a connection, which may include starting the server's process."""
_CLOSE_S = 5.0


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for one server. They contain the server's address, or the command that starts the server."""

    url: Address | None = None
    auth_token: str | None = None
    """Bearer token that is sent with each request."""
    headers: dict[str, str] = {}
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None

    @property
    def secrets(self) -> set[str]:
        """Return the values that are sent to the server and must never appear in messages."""
        key = self.auth_token or ""
        words = {word for value in self.headers.values() for word in (value, value.partition(" ")[2])}
        return {key, *words, *self.env.values()}


def mcp_kinds(config: Mapping[str, Any]) -> list[ToolKind]:
    """Query the configured servers for their tools and return the tools.

    Args:
        config: Settings `mcp_servers_config_path` (a JSON file with `mcpServers`) or `servers` (the same
            mapping inline), `tool_selected_list`, and `timeout_s` (time limit for one call, 30 by default).
            As in verl, the settings may also be nested under `mcp`.

    Raises:
        ConfigError: The configuration is invalid, a server cannot be reached, or no server has a selected
            tool.
        MissingDependencyError: The package is not installed.
    """
    given = {**config, **(config.get("mcp") or {})}
    given.pop("mcp", None)
    unknown = sorted(given.keys() - set(_SETTINGS))
    if unknown:
        hint = did_you_mean(unknown[0], _SETTINGS) or f"; expected one of {', '.join(_SETTINGS)}"
        raise ConfigError(f"mcp: unknown setting '{unknown[0]}'{hint}")
    timeout_s = check_timeout(given.get("timeout_s", 30.0))
    servers = _servers(given)
    kinds: dict[str, ToolKind] = {}
    selected = given.get("tool_selected_list") or None
    for name, server in servers.items():
        connection = connection_to(msgspec.json.encode(server, enc_hook=revealed))
        for one in connection.tools(name):
            if one.name in kinds and (selected is None or one.name in selected):
                raise ConfigError(
                    f"two MCP servers have a tool '{one.name}'; remove one server, or exclude the tool "
                    "with tool_selected_list"
                )
            kinds[one.name] = _kind(connection, one, timeout_s)
    selected = selected or list(kinds)
    for name in selected:
        if name not in kinds:
            hint = did_you_mean(name, kinds) or f"; known: {', '.join(kinds) or 'none'}"
            raise ConfigError(f"tool_selected_list: no MCP server has a tool '{name}'{hint}")
    return [kinds[name] for name in selected]


def _servers(given: Mapping[str, Any]) -> dict[str, Server]:
    raw = given.get("servers")
    where = "servers"
    if raw is None:
        where = str(given.get("mcp_servers_config_path") or "")
        if not where:
            raise ConfigError("the tool mcp needs mcp_servers_config_path (a JSON file) or servers")
        try:
            raw = msgspec.json.decode(Path(where).read_bytes())["mcpServers"]
        except OSError as error:
            raise ConfigError(f"cannot read {where}: {error.strerror}") from None
        except (LookupError, TypeError, *NOT_JSON):
            raise ConfigError(f'{where} must be a JSON object with the key "mcpServers"') from None
    try:
        found = msgspec.convert(raw, dict[str, Server], dec_hook=made_private)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from None
    for name, server in found.items():
        if (server.url is None) == (server.command is None):
            raise ConfigError(f"MCP server '{name}' in {where} must have exactly one of url and command")
    return found


def _kind(connection: McpConnection, found: Any, timeout_s: float) -> ToolKind:
    parameters = dict(found.input_schema or {"type": "object", "properties": {}})
    schema = function_schema(found.name, found.description or "", parameters)

    async def execute(**arguments: Any) -> Observation:
        return await connection.call(found.name, arguments, timeout_s)

    return ToolKind(found.name, schema, lambda: ToolParts(execute), partial(fit, parameters))


class McpConnection:
    """Connection to one server, which can be used from any thread and any event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._client: Future[Any] | None = None
        self._done: asyncio.Event | None = None
        self._task: Future[None] | None = None

    def tools(self, name: str) -> Sequence[Any]:
        """Return the server's tools as objects from the package `mcp`. This method blocks.

        Args:
            name: Name of the server, for messages.

        Raises:
            ConfigError: The server cannot be reached.
            MissingDependencyError: The package is not installed.
        """
        try:
            client = self._opened().result(CONNECT_S)
            return list(_submit(_list(client)).result(CONNECT_S))
        except MissingDependencyError:
            raise
        except Exception as error:
            raise ConfigError(f"cannot use the MCP server '{name}': {self._reason(error)}") from None

    async def call(self, name: str, arguments: Mapping[str, Any], timeout_s: float) -> Observation:
        """Call a tool on the server.

        Raises:
            RuntimeError: The server cannot be reached or did not answer in time.
        """
        try:
            client = await asyncio.wrap_future(self._opened())
            answer = client.call_tool(name, dict(arguments), read_timeout_seconds=timeout_s)
            result = await asyncio.wrap_future(_submit(answer))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if "imed out" not in str(error):
                self.close()
            raise RuntimeError(f"the MCP server failed: {self._reason(error)}") from None
        texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
        return Observation("\n".join(texts), status="bad_call" if result.is_error else "ok")

    def _reason(self, error: BaseException) -> str:
        return (self._server.url or Address()).unsaid(_reason(error), self._server.secrets)[:200]

    def close(self) -> None:
        """Close the connection. The next call reopens it."""
        with self._lock:
            done = self._done
            task = self._task
            self._client = self._done = self._task = None
        if done is not None and task is not None:
            with contextlib.suppress(RuntimeError):
                _loop().call_soon_threadsafe(done.set)

    def wait_closed(self) -> None:
        """Close the connection and wait up to 5 s for the server's process to end."""
        task = self._task
        self.close()
        if task is not None:
            with contextlib.suppress(Exception):
                task.result(_CLOSE_S)

    def _opened(self) -> Future[Any]:
        with self._lock:
            if self._client is None or (self._task is not None and self._task.done()):
                self._client = Future()
                self._done = asyncio.Event()
                self._task = _submit(self._hold(self._client, self._done))
            return self._client

    async def _hold(self, ready: Future[Any], done: asyncio.Event) -> None:
        """Enter and exit the client in the same task, as the package `mcp` requires."""
        try:
            async with _client_of(self._server) as client:
                ready.set_result(client)
                await done.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            elif isinstance(error, asyncio.CancelledError):
                raise


@functools.cache
def connection_to(server: bytes) -> McpConnection:
    """Return this process's shared connection to a server, which is opened on first use.

    Args:
        server: `Server` encoded as JSON, with its full address.
    """
    connection = McpConnection(msgspec.json.decode(server, type=Server, dec_hook=made_private))
    atexit.register(connection.wait_closed)
    return connection


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="mcp", daemon=True).start()
    return loop


def _submit(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


async def _list(client: Any) -> list[Any]:
    found, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        found.extend(page.tools)
        cursor = page.next_cursor
        if not cursor:
            return found


@contextlib.asynccontextmanager
async def _client_of(server: Server) -> AsyncIterator[Any]:
    package = _package()
    if server.command is not None:
        target = package.StdioServerParameters(
            command=server.command, args=server.args, env=server.env or None, cwd=server.cwd
        )
        async with package.Client(target) as client:
            yield client
        return
    headers = dict(server.headers)
    if server.auth_token:
        headers["Authorization"] = f"Bearer {server.auth_token}"
    assert server.url is not None
    if server.url.authorization:
        headers.setdefault("Authorization", server.url.authorization)
    transport: Callable[..., Any] = importlib.import_module(
        "mcp.client.streamable_http"
    ).streamable_http_client
    httpx2 = importlib.import_module("httpx2")
    async with (
        httpx2.AsyncClient(headers=headers, follow_redirects=True) as http,
        package.Client(transport(server.url.request_url(), http_client=http)) as client,
    ):
        yield client


def _package() -> Any:
    remedy = "MCP servers need the package mcp, 2 or newer: pip install 'rewardkit[mcp]'"
    try:
        package = importlib.import_module("mcp")
    except ImportError:
        raise MissingDependencyError(remedy) from None
    if not hasattr(package, "Client"):
        raise MissingDependencyError(f"the installed mcp is older than version 2. {remedy}")
    return package


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    said = str(error).splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
