"""Tools and interactions over HTTP, for trainers with a loop of their own.

    GET    /episodes -> what tools and interactions there are
    POST   /episodes {"tools", "interaction", "ground_truth", "data_source", "extra_info"}
           -> {"session", "tools"}
    POST   /episodes/{session}/call {"name", "arguments"} -> {"text", "reward", "done", "status", "metrics"}
    POST   /interaction {"session", "messages"} -> {"text", "reward", "done", "metrics"}; without a session
           {"name", "messages", "ground_truth", ...}: one answer
    POST   /episodes/{session}/reward -> {"tools": {name: number or null}, "interaction": number or null}
    DELETE /episodes/{session}

A bad call is an observation. What is wrong with the request is 422, an episode that is not there 404, too
many 503, and a tool that cannot begin or an interaction that fails 502. Without `--tools` and
`--interactions` there are no such routes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from rewardkit.errors import InputError, OverloadedError
from rewardkit.rows import ground_truth_text
from rewardkit.server.dialects.background import elsewhere
from rewardkit.server.episodes import EpisodeFailed, Episodes, EpisodeStart, UnknownEpisode
from rewardkit.server.request import CURRENT
from rewardkit.server.siblings import Siblings
from rewardkit.server.wire import BodyDecoder, refusal, reply
from rewardkit.tool_calls.call import call_of

_MORE_S = 30.0
"""How much longer than a call may take its holder may need to answer, on a busy machine."""


class _Opening(msgspec.Struct, forbid_unknown_fields=True):
    tools: list[str] | None = None
    interaction: str | None = None
    ground_truth: Any = ""
    data_source: str = ""
    extra_info: dict[str, Any] | None = None


class _Calling(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] | str = {}
    """Or JSON in a text, as OpenAI's clients have it."""


class _Turn(msgspec.Struct, forbid_unknown_fields=True):
    messages: list[dict[str, Any]]
    session: str | None = None
    name: str | None = None
    ground_truth: Any = ""
    data_source: str = ""
    extra_info: dict[str, Any] | None = None


_decode_opening: BodyDecoder[_Opening] = BodyDecoder(_Opening, "an episode")
_decode_calling: BodyDecoder[_Calling] = BodyDecoder(_Calling, "a call of a tool")
_decode_turn: BodyDecoder[_Turn] = BodyDecoder(_Turn, "a turn for an interaction")


def router(
    episodes: Episodes, siblings: Siblings | None, answers: dict[str, Callable[[Any], Any]]
) -> APIRouter:
    """The routes; `answers` is told what the other processes may ask of this one."""
    routes = _Routes(episodes, siblings)
    answers["episode"] = routes.asked
    made = APIRouter(tags=["Episodes"])
    for method, path, endpoint, summary in (
        ("GET", "/episodes", routes.list, "What tools and interactions there are"),
        ("POST", "/episodes", routes.open, "Open an episode"),
        ("POST", "/episodes/{session}/call", routes.call, "Call a tool of an episode"),
        ("POST", "/episodes/{session}/reward", routes.reward, "What an episode is worth"),
        ("DELETE", "/episodes/{session}", routes.release, "Release an episode"),
        ("POST", "/interaction", routes.interaction, "Let an interaction answer a turn"),
    ):
        made.add_api_route(path, endpoint, methods=[method], summary=summary)
    return made


class _Routes:
    """Answers requests, and asks the process that holds an episode."""

    def __init__(self, episodes: Episodes, siblings: Siblings | None) -> None:
        self._episodes = episodes
        self._siblings = siblings

    async def list(self) -> Response:
        """Say what there is."""
        episodes = self._episodes
        interactions = list(episodes.interactions)
        return reply({"tools": episodes.toolbox.schemas, "interactions": interactions, "open": len(episodes)})

    async def open(self, request: Request) -> Response:
        """Open an episode in this process."""
        asked = _decode_opening(await request.body())
        row = EpisodeStart(
            asked.tools,
            asked.interaction,
            ground_truth_text(asked.ground_truth) or "",
            asked.data_source,
            asked.extra_info or {},
        )
        return await _answer(self._episodes.open(row, _client()))

    async def call(self, request: Request) -> Response:
        """Call a tool."""
        asked = _decode_calling(await request.body())
        return await self._at_home("call", request.path_params["session"], [asked.name, asked.arguments])

    async def reward(self, request: Request) -> Response:
        """Ask for the rewards."""
        return await self._at_home("reward", request.path_params["session"], None)

    async def release(self, request: Request) -> Response:
        """Release an episode; one that is not there is no error."""
        return await self._at_home("release", request.path_params["session"], None)

    async def interaction(self, request: Request) -> Response:
        """Let an interaction answer: that of an episode, or one for this request alone."""
        asked = _decode_turn(await request.body())
        if asked.session is not None:
            return await self._at_home("respond", asked.session, asked.messages)
        if not asked.name:
            raise InputError("say which interaction answers: the session of an episode, or a name")
        ground_truth = ground_truth_text(asked.ground_truth) or ""
        row = EpisodeStart((), asked.name, ground_truth, asked.data_source, asked.extra_info or {})
        return await _answer(self._episodes.once(row, asked.messages))

    async def asked(self, argument: Any) -> Any:
        """Answer another process."""
        return await _told(self._here(*argument))

    async def _at_home(self, what: str, session: str, argument: Any) -> Response:
        place = elsewhere(session, self._siblings)
        if self._siblings is None or place is None:
            return await _answer(self._here(what, session, argument))
        seconds = self._episodes.settings.seconds + _MORE_S
        told = await self._siblings.ask(place, "episode", (what, session, argument), seconds)
        return _said(told or {"status": 404, "error": ["unknown_episode", "its server process is gone"]})

    async def _here(self, what: str, session: str, argument: Any) -> Mapping[str, Any]:
        episodes = self._episodes
        if what == "call":
            return await episodes.call(session, call_of(*argument))
        if what == "respond":
            return await episodes.respond(session, argument)
        if what == "reward":
            return await episodes.reward(session)
        return {"released": await episodes.release(session)}


async def _answer(work: Awaitable[Mapping[str, Any]]) -> Response:
    """Answer with what the work returns; it is cancelled when the client goes."""
    current = CURRENT.get()
    with current.cancelled_with_client() if current else contextlib.nullcontext():
        return _said(await _told(work))


async def _told(work: Awaitable[Mapping[str, Any]]) -> dict[str, Any]:
    """What came of it, JSON-ready, so that processes can tell each other."""
    try:
        return {"status": 200, "answer": dict(await work)}
    except UnknownEpisode as error:
        return {"status": 404, "error": ["unknown_episode", str(error)]}
    except InputError as error:
        return {"status": 422, "error": ["bad_request", str(error)]}
    except OverloadedError as error:
        return {"status": 503, "error": ["overloaded", str(error)]}
    except EpisodeFailed as error:
        return {"status": 502, "error": ["episode_failed", str(error)]}


def _said(told: Mapping[str, Any]) -> Response:
    if told["status"] == 200:
        return reply(told["answer"])
    kind, message = told["error"]
    return refusal(told["status"], kind, message, {"Retry-After": "2"} if told["status"] == 503 else None)


def _client() -> str:
    current = CURRENT.get()
    return current.client if current else ""
