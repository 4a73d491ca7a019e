"""Journal of turns that an engine has generated but that no step has trained on yet.

A checkpoint contains these turns, so that a resumed run does not generate them again.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy
import pyarrow as pa

from rewardkit.agents.types import Reply, TokenModel
from rewardkit.trainer.rollout.base import Play, RolloutEngine, Sampling, TurnCosts
from rewardkit.trainer.rollout.conversing import TurnwiseEngine

E = TypeVar("E")
R = TypeVar("R")

Wanted = tuple[int, int, bytes]
"""Key of a request, with its seed, its maximum number of tokens and a digest of its prompt's token ids."""
SCHEMA = pa.schema(
    {
        "seed": pa.int64(),
        "max_tokens": pa.int64(),
        "after": pa.binary(),
        "token_ids": pa.list_(pa.int64()),
        "log_probs": pa.list_(pa.float64()),
        "weight_versions": pa.list_(pa.int64()),
        "finish_reason": pa.string(),
        "routed_experts": pa.binary(),
        "experts_shape": pa.list_(pa.int64()),
    }
)


class TurnJournal:
    """Generated turns by request. No two turns in a run have the same seed."""

    def __init__(self) -> None:
        self._turns: dict[Wanted, Reply] = {}

    @classmethod
    def of(cls, table: pa.Table | None) -> TurnJournal:
        """Create a journal from a table that `TurnJournal.table` returned, or an empty journal from None."""
        made = cls()
        for row in table.to_pylist() if table is not None else ():
            experts = row["routed_experts"]
            if experts is not None:
                experts = numpy.frombuffer(experts, numpy.int32).reshape(row["experts_shape"])
            reply = Reply(
                "",
                row["token_ids"],
                row["log_probs"],
                row["finish_reason"],
                weight_versions=row["weight_versions"],
                routed_experts=experts,
            )
            made.put((row["seed"], row["max_tokens"], row["after"]), reply)
        return made

    def get(self, wanted: Wanted) -> Reply | None:
        """Return the turn generated for this request, or None if the journal does not contain it."""
        return self._turns.get(wanted)

    def put(self, wanted: Wanted, reply: Reply) -> None:
        """Store a turn as arrays, which take 24 bytes per token instead of 100 for Python numbers."""
        versions = reply.weight_versions
        self._turns[wanted] = Reply(
            "",
            array("q", reply.token_ids),
            None if reply.log_probs is None else array("d", reply.log_probs),
            reply.finish_reason,
            weight_versions=None if versions is None else array("q", versions),
            routed_experts=reply.routed_experts,
        )

    def table(self) -> pa.Table:
        """Return all turns as a table. Other threads may add turns at the same time."""
        rows = [
            {
                "seed": seed,
                "max_tokens": most,
                "after": after,
                "token_ids": reply.token_ids,
                "log_probs": reply.log_probs,
                "weight_versions": reply.weight_versions,
                "finish_reason": reply.finish_reason,
                **_experts(reply.routed_experts),
            }
            for (seed, most, after), reply in list(self._turns.items())
        ]
        return pa.Table.from_pylist(rows, SCHEMA)


def _experts(found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    return {"routed_experts": found.astype(numpy.int32).tobytes(), "experts_shape": list(found.shape)}


@dataclass(frozen=True)
class JournaledModel:
    """`TokenModel` that stores its turns in a journal and answers repeated requests from the journal."""

    model: TokenModel
    journal: TurnJournal

    @property
    def constrains(self) -> bool:
        """See `TokenModel`."""
        return bool(getattr(self.model, "constrains", False))

    async def generate(
        self,
        token_ids: Sequence[int],
        *,
        seed: int,
        max_tokens: int,
        stop_token_ids: Sequence[int] = (),
        **constraint: Any,
    ) -> Reply:
        """See `TokenModel.generate`."""
        digest = hashlib.blake2b(array("q", token_ids).tobytes(), digest_size=16)
        if constraint:
            digest.update(json.dumps(constraint, sort_keys=True, default=str).encode())
        wanted = (seed, max_tokens, digest.digest())
        known = self.journal.get(wanted)
        if known is not None:
            return known
        reply = await self.model.generate(
            token_ids, seed=seed, max_tokens=max_tokens, stop_token_ids=stop_token_ids, **constraint
        )
        self.journal.put(wanted, reply)
        return reply

    def idle(self) -> AbstractContextManager[None]:
        """See `TokenModel`."""
        idle: Callable[[], AbstractContextManager[None]] = getattr(self.model, "idle", nullcontext)
        return idle()


@dataclass(frozen=True)
class JournaledEngine(TurnwiseEngine):
    """Rollout engine that stores its turns in a journal and supports only `generate` and `converse`."""

    engine: RolloutEngine
    journal: TurnJournal
    response_length: int
    pad_id: int

    @property
    def turn_costs(self) -> TurnCosts:
        """See `RolloutEngine.turn_costs`."""
        return self.engine.turn_costs

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """See `RolloutEngine.converse`."""

        async def journaled(model: Any, episode: E) -> R:
            return await play(JournaledModel(model, self.journal), episode)

        return self.engine.converse(journaled, episodes, sampling, ended)
