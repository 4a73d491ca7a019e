"""A request passes few of our files. As in `tests/test_walks.py`, the figures are bounds."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from rewardkit import Scorer
from rewardkit.server.app import create_app
from tests.walks import Walk, walking

RIGHT = "so 3+4=7\n#### 7"
PLAIN = {"data_source": "openai/gsm8k", "response": RIGHT, "ground_truth": "7"}
OPENRLHF = {"query": [f"What is 3+4?{RIGHT}"], "prompts": ["What is 3+4?"], "labels": ["7"]}


async def _asked(scorer: Scorer, path: str, body: Any) -> Walk:
    """The walk of the second of two requests: the first one imports and connects."""
    app = create_app(scorer)
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://test") as client:  # fmt: skip
        await client.post(path, json=body)
        with walking() as walk:
            answer = await client.post(path, json=body)
    assert answer.status_code == 200
    return walk


@pytest.mark.parametrize(
    ("path", "body", "most", "stays"),
    [("/score", PLAIN, 20, 62), ("/openrlhf/openai%2Fgsm8k", OPENRLHF, 23, 85)],
)
def test_a_request_passes_few_files(path: str, body: Any, most: int, stays: int) -> None:
    with Scorer(workers=1) as scorer:
        walk = asyncio.run(_asked(scorer, path, body))
    assert "rewards/gsm8k.py" in walk.files
    assert len(walk.files) <= most
    assert len(walk.stays) <= stays
