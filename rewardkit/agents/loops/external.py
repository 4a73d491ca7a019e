"""Loop in which the user's own program plays the episode through an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio

from rewardkit.agents.endpoint.program import HarnessProgram
from rewardkit.agents.endpoint.server import endpoint
from rewardkit.agents.endpoint.session import ProgramSession
from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("external", tools="program", interaction=False, settings=HarnessProgram)
async def external(episode: Episode, program: HarnessProgram) -> None:
    """Play the episode with a program that uses an OpenAI-compatible endpoint (see `--agent-file`)."""
    session = ProgramSession(episode, program.max_branches)
    async with endpoint().serve(session) as base_url:
        failed = await _run(program, base_url, session)
    if session.failed is not None:
        raise session.failed
    if session.refused is not None:  # the limit ends the episode, even if the program handled the error
        episode.end(session.refused)
    elif failed is not None:
        episode.end(*failed)
    elif session.branches.last is None:
        episode.end("error", "the program ended without requesting a turn")


async def _run(program: HarnessProgram, base_url: str, session: ProgramSession) -> tuple[str, str] | None:
    """Run the program until it exits or times out. After the last turn, it has `tool_seconds` to exit.

    Return the reason and a description if the episode ends because of the program, or else None.
    """
    limits = session.episode.limits
    left = session.episode.seconds_left()
    seconds = program.timeout_s if left is None else min(program.timeout_s, max(left, 0.0))
    running = asyncio.ensure_future(program.run(base_url, session.episode.row))
    over = asyncio.ensure_future(session.over.wait())
    try:
        await asyncio.wait([running, over], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if over.done() and session.failed is None:
            await asyncio.wait([running], timeout=limits.tool_seconds)
        if not running.done():
            return "seconds", f"the program did not end within {seconds:g} s"
        failed = running.result()
        return None if failed is None else ("error", failed)
    finally:
        over.cancel()
        running.cancel()
        await asyncio.gather(running, over, return_exceptions=True)
