"""A program that rewrites its history in some episodes, for test_branches.py."""

from __future__ import annotations

from typing import Any

import aiohttp


async def play(base_url: str, row: dict[str, Any]) -> None:
    """Two turns; where the first is of an even length, also a second way to go on, and a summary."""
    prompt = row["prompt"]
    async with aiohttp.ClientSession() as session:

        async def ask(messages: list[Any]) -> Any:
            body = {"messages": messages, "max_tokens": 5}
            async with session.post(f"{base_url}/chat/completions", json=body) as answer:
                return (await answer.json())["choices"][0]["message"]

        said = await ask(prompt)
        if len(said["content"]) % 2 == 0:
            await ask([*prompt, said, {"role": "user", "content": "No."}])
            await ask([{"role": "user", "content": "2"}])
        await ask([*prompt, said, {"role": "user", "content": "Hm?"}])
