"""MCP servers: their tools are ours, over stdio and HTTP; errors are observations, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.loading import load_tools
from rewardkit.agents.tools.mcp import connection_to, mcp_kinds
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError, OptionsError
from tests.living import alive, until


@pytest.fixture(autouse=True)
def _needs_mcp() -> None:
    pytest.importorskip("mcp.server.mcpserver")


SERVER = '''
import os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("test")

@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b

@server.tool()
def pid() -> int:
    """This process."""
    return os.getpid()

@server.tool()
def fail() -> str:
    raise ValueError("no")

@server.tool()
def die() -> str:
    os._exit(1)

if __name__ == "__main__":
    server.run("stdio")
'''


ADDS_ONLY = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("other")

@server.tool()
def add(a: int) -> int:
    """Add."""
    return a

server.run("stdio")
'''


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "server.py"
    path.write_text(SERVER)
    return path


@pytest.fixture(scope="module")
def servers(script: Path) -> dict[str, Any]:
    return {"one": {"command": sys.executable, "args": [str(script)]}}


def _call(kinds: list[Any], name: str, arguments: dict[str, Any]) -> Observation:
    (kind,) = [kind for kind in kinds if kind.name == name]

    async def use() -> Observation:
        one = kind.open()
        await one.create(ground_truth="")
        try:
            return await one.execute(arguments)
        finally:
            await one.release()

    return asyncio.run(use())


def test_tools_over_stdio_are_listed_called_and_checked(script: Path, tmp_path: Path, servers: Any) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    config = tmp_path / "tools.yaml"
    config.write_text(
        "tools:\n- class_name: verl.tools.mcp_search_tool.MCPSearchTool\n  config: {type: mcp, timeout: 20, rate_limit: 9}\n"
        f"  mcp: {{mcp_servers_config_path: {file}, tool_selected_list: [add, fail]}}\n"
    )
    kinds = list(load_tools(config).kinds.values())
    assert [kind.name for kind in kinds] == ["add", "fail"]
    assert kinds[0].schema["function"]["parameters"]["required"] == ["a"]
    assert _call(kinds, "add", {"a": 2}).text == "3"
    assert _call(kinds, "add", {"a": "x"}).status == "bad_call"
    assert _call(kinds, "fail", {}).status == "bad_call"
    with pytest.raises(ConfigError, match="did you mean add"):
        mcp_kinds({"servers": servers, "tool_selected_list": ["ad"]})


@pytest.mark.slow
def test_tools_of_one_name_exclude_each_other_only_where_they_are_selected(script: Path) -> None:
    server = {"command": sys.executable, "args": [str(script)]}
    other = {"command": sys.executable, "args": ["-c", ADDS_ONLY]}
    config = {"servers": {"one": server, "two": other}}
    assert [kind.name for kind in mcp_kinds({**config, "tool_selected_list": ["pid"]})] == ["pid"]
    with pytest.raises(ConfigError, match=r"'add'.*tool_selected_list"):
        mcp_kinds(config)
    with pytest.raises(ConfigError, match="'add'"):
        mcp_kinds({**config, "tool_selected_list": ["add"]})


@pytest.mark.slow
def test_a_server_that_dies_is_started_again_and_goes_when_it_is_closed(servers: Any) -> None:
    kinds = mcp_kinds({"servers": servers, "timeout_s": 20.0})
    first = int(_call(kinds, "pid", {}).text)
    with pytest.raises(RuntimeError, match="MCP server failed"):
        _call(kinds, "die", {})
    second = int(_call(kinds, "pid", {}).text)
    assert first != second != os.getpid()
    import msgspec

    from rewardkit.agents.tools.mcp import Server

    connection_to(msgspec.json.encode(Server(**servers["one"]))).wait_closed()
    until(lambda: not alive(second))


@pytest.fixture
def address(script: Path) -> Iterator[str]:
    import uvicorn

    names: dict[str, Any] = {"__name__": "served"}
    exec(compile(SERVER, "server.py", "exec"), names)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # who connects before the server runs waits
    server = uvicorn.Server(uvicorn.Config(names["server"].streamable_http_app(), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join(20)
    listening.close()


def test_tools_over_http(address: str) -> None:
    kinds = mcp_kinds({"servers": {"web": {"url": address, "auth_token": "secret"}}})
    assert _call(kinds, "add", {"a": 2, "b": 5}).text == "7"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"servers": {"a": {"command": "/nonexistent/program"}}}, "MCP server 'a'"),
        ({"servers": {"a": {}}}, "url and command"),
        ({"mcp_servers_config_path": "/nonexistent.json"}, "cannot read"),
        ({"server": {}}, "'server'"),
        (
            {"servers": {}, "timeout_s": "soon"},
            "found 'soon'",
        ),
    ],
)
def test_what_cannot_be_reached_or_read_is_one_clear_line(config: dict[str, Any], why: str) -> None:
    with pytest.raises((ConfigError, OptionsError), match=why) as caught:
        mcp_kinds(config)
    assert "\n" not in str(caught.value)
