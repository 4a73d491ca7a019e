"""A token in an address is sent, and shown nowhere: not in errors, not in a repr, not in a server's log."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from typing import Any

import pytest

from rewardkit.agents.interactions.simulated_user import UserSettings
from rewardkit.client import AsyncClient, Client
from rewardkit.errors import RewardkitError
from rewardkit.generation.types import EngineSettings
from rewardkit.http_addresses import address_of, public_text
from rewardkit.model_api.client import Endpoint
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.sandbox.fusion_client import FusionClient
from rewardkit.server.observability.logs import JsonFormatter
from rewardkit.types import Sample

TOKEN = "s3cret"
SAMPLE = Sample("gsm8k", "#### 72", "72")

ADDRESSES = {
    f"http://:{TOKEN}@h:8000/x?y=1": ("http://h:8000/x?y=1", f":{TOKEN}"),
    f"https://{TOKEN}@h": ("https://h", f"{TOKEN}:"),
    "http://me:a%40b%2F@[::1]:8": ("http://[::1]:8", "me:a@b/"),
    "http://h/a@b": ("http://h/a@b", None),
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_is_sent_without_what_says_who_asks_and_that_as_a_header(url: str) -> None:
    bare, secret = ADDRESSES[url]
    found = address_of(url)
    expected = None if secret is None else f"Basic {base64.b64encode(secret.encode()).decode()}"
    assert (found.request_url(), found.authorization) == (bare, expected)
    assert TOKEN not in repr(found) and (expected is None or expected not in repr(found))


@pytest.mark.parametrize(
    "text",
    [
        f"at http://:{TOKEN}@h:8, ftp://{TOKEN}@h/",
        f"http://u:{TOKEN}/{TOKEN}@h",
        f"http://u:{TOKEN}@{TOKEN}@h",
    ],
)
def test_no_text_shows_what_stands_in_an_address_before_its_host(text: str) -> None:
    assert TOKEN not in public_text(text)


def raised(call: Callable[[], Any]) -> str:
    with pytest.raises((RewardkitError, ValueError)) as caught:
        call()
    return "".join(str(error) for error in (caught.value, caught.value.__cause__))


NOWHERE = f"http://:{TOKEN}@127.0.0.1:9"


async def ask() -> None:
    async with AsyncClient(NOWHERE, timeout_s=0.5) as client:
        await client.ascore(SAMPLE)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Client(f"nothing://:{TOKEN}@h"),
        lambda: AsyncClient(f"http://:{TOKEN}@h:port"),
        lambda: Client(NOWHERE, timeout_s=0.5).score(SAMPLE),
        lambda: asyncio.run(ask()),
        lambda: JudgeOptions(url=f"h//:{TOKEN}@h"),
        lambda: UserSettings(url=f"h//:{TOKEN}@h"),
        lambda: FusionClient(f"h://:{TOKEN}@h"),
    ],
)
def test_no_error_shows_a_token(call: Callable[[], Any]) -> None:
    assert TOKEN not in raised(call)


@pytest.mark.parametrize(
    "shown",
    [
        Endpoint(NOWHERE, "m"),
        JudgeOptions(NOWHERE, "m"),
        UserSettings(NOWHERE, "m"),
        EngineSettings("endpoint", "m", NOWHERE),
    ],
)
def test_no_repr_shows_a_token(shown: object) -> None:
    assert TOKEN not in repr(shown) and "127.0.0.1:9" in repr(shown)


def test_no_log_line_shows_a_token() -> None:
    try:
        raise OSError(f"{NOWHERE} is down")
    except OSError as error:
        info = type(error), error, error.__traceback__
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "asked %s", (NOWHERE,), info)
    line = JsonFormatter().format(record)
    assert TOKEN not in line and "127.0.0.1:9" in line
