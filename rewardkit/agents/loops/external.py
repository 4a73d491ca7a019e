"""Loop in which the user's own program plays the episode through an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio

from rewardkit.agents.endpoint.program import HarnessProgram, ProgramEnd, behind
from rewardkit.agents.endpoint.server import endpoint
from rewardkit.agents.endpoint.session import ProgramSession
from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("external", tools="program", interaction=False, settings=HarnessProgram)
async def external(episode: Episode, program: HarnessProgram) -> None:
    """Play the episode with a program that uses an OpenAI-compatible endpoint (see `--agent-file`)."""
    session = ProgramSession(episode, program.max_branches)
    end, late = ProgramEnd(), None
    try:
        async with endpoint().serve(session) as base_url:
            end, late = await _run(program, base_url, session)
    finally:
        session.settle(end.answer)
    if session.failed is not None:
        raise session.failed
    result = session.completion
    if result is not None:  # the result that the program has reported counts, even if it failed afterwards
        episode.end("done" if result.status == "ok" else "error", result.detail)
        if result.status != "ok":
            episode.status = result.status
    elif session.refused is not None:  # the limit ends the episode, even if the program handled the error
        episode.end(session.refused, session.drift if session.refused == "branches" else None)
        if session.refused == "branches" and session.drift is not None:
            episode.status = "error"
    elif late is not None:
        episode.end("seconds", late)
    elif end.failed is not None:
        episode.end("error", end.failed)
    elif not session.use.turns:
        episode.end("error", f"the program ended without requesting a turn{behind(end.stderr)}")


async def _run(
    program: HarnessProgram, base_url: str, session: ProgramSession
) -> tuple[ProgramEnd, str | None]:
    """Run the program until it exits or times out. After the last turn, it has `tool_seconds` to exit.

    Return the program's result, and a description of the timeout, or None if the program exited in time.
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
            return ProgramEnd(), f"the program did not end within {seconds:g} s"
        return running.result(), None
    finally:
        over.cancel()
        running.cancel()
        await asyncio.gather(running, over, return_exceptions=True)
