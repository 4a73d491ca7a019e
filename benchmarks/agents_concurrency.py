"""A slow tool stalls its own episode alone: on vLLM, with a tool that sleeps and with instant ones.

    python benchmarks/agents_concurrency.py [--episodes 256] [--sleep 2.0] [--turns 3] [--tokens 16]
                                            [--in-flight 256] [--width 128] [--layers 2]

The model is random and tiny, so what is measured is the machinery: a step of the engine costs about as much
whatever is in it. With --width 256 --layers 6 tokens cost more than steps, as with models in use. Printed:
the time of all episodes over that of the slowest one (bar 1.3), tokens per second, and what the prefix
cache saved; and by turn how many tokens of its context a turn had to compute (the cache is of whole blocks:
on a CPU of 128 tokens).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.run.build import open_rollout

PROMPT = 200
OBSERVED = 24
TURNS_SHOWN = 10


def player(turns: int, tokens: int) -> Any:
    """Return what plays one episode of (seed, seconds that its tool takes at each turn)."""

    async def play(model: Any, episode: tuple[int, Sequence[float]]) -> tuple[float, int]:
        seed, pauses = episode
        started = time.perf_counter()
        rng = random.Random(seed)
        ids = [rng.randrange(10, 250) for _ in range(PROMPT)]
        drawn = 0
        for turn in range(turns):
            reply = await model.generate(ids, seed=seed * 100 + turn, max_tokens=tokens)
            drawn += len(reply.token_ids)
            ids += [*reply.token_ids, *(rng.randrange(10, 250) for _ in range(OBSERVED))]
            if turn < turns - 1:
                await asyncio.sleep(pauses[turn])
        return time.perf_counter() - started, drawn

    return play


def measure(engine: Any, args: argparse.Namespace, longest: float) -> dict[str, float]:
    """Play all episodes and return the figures."""
    rng = random.Random(0)
    episodes = [(i, [rng.uniform(0, longest) for _ in range(args.turns)]) for i in range(args.episodes)]
    asleep = max(sum(pauses[: args.turns - 1]) for _, pauses in episodes)
    started = time.perf_counter()
    cpu = time.process_time()
    found = engine.converse(player(args.turns, args.tokens), episodes, Sampling())
    wall = time.perf_counter() - started
    return {
        "wall_s": wall,
        "cpu_s": time.process_time() - cpu,
        "slowest_s": max(seconds for seconds, _ in found),
        "asleep_s": asleep,
        "tokens_per_s": sum(drawn for _, drawn in found) / wall,
        "cached_share": engine.turn_costs.cached_tokens / engine.turn_costs.prompt_tokens,
    }


def shortest(engine: Any, model: Any, args: argparse.Namespace, asleep_s: float) -> float:
    """Return the seconds that no schedule goes below: all have their first turn, the episode that sleeps
    longest then sleeps, and has its further turns alone."""
    spans = []
    for episodes, turns in ((args.episodes, 1), (1, args.turns - 1)):
        engine.sync_weights(model.named_parameters())  # forgets what was cached
        found = [(i, [0.0] * turns) for i in range(episodes)]
        started = time.perf_counter()
        engine.converse(player(turns, args.tokens), found, Sampling())
        spans.append(time.perf_counter() - started)
    return sum(spans) + asleep_s


def print_turns(engine: Any, model: Any, tokens: int) -> None:
    """Print for each of several turns the tokens that it began with, those cached, and those computed."""
    before = (0.0, 0.0)
    print("turn  context  cached  computed (means of 16 episodes)")
    for turns in range(1, TURNS_SHOWN + 1):
        engine.sync_weights(model.named_parameters())  # forgets what was cached
        engine.converse(player(turns, tokens), [(i, [0.0] * turns) for i in range(16)], Sampling())
        costs = engine.turn_costs
        now = (costs.prompt_tokens / 16, costs.cached_tokens / 16)
        read, cached = (a - b for a, b in zip(now, before, strict=True))
        print(f"{turns:>4}{read:>9.0f}{cached:>8.0f}{read - cached:>10.0f}")
        before = now


def _model(tokenizer: Any, width: int, layers: int) -> Any:
    """Return the demo's model in another size, for longer contexts, with random weights."""
    small: Any = make_model(tokenizer, seed=0)
    config = small.config
    config.hidden_size = width
    config.intermediate_size = 3 * width
    config.head_dim = width // config.num_attention_heads
    config.num_hidden_layers = layers
    config.layer_types = None
    config.max_position_embeddings = 2048
    torch.manual_seed(0)
    return type(small)(config).eval()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure with instant and with sleeping tools, and without the prefix cache."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--sleep", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--width", type=int, default=128, help="of the model")
    parser.add_argument("--layers", type=int, default=2)
    args = parser.parse_args(argv)
    length = max(args.turns, TURNS_SHOWN) * (args.tokens + OBSERVED)
    with tempfile.TemporaryDirectory() as temporary, open_world("cpu") as world:
        tokenizer = make_tokenizer(["1+2=3"], vocab_size=320)
        model = _model(tokenizer, args.width, args.layers)
        save(model, tokenizer, Path(temporary))
        config = load_config(
            None,
            [
                "data.train_files=x",
                f"data.max_prompt_length={PROMPT}",
                f"data.max_response_length={length}",
                f"actor_rollout_ref.model.path={temporary}",
                "actor_rollout_ref.rollout.name=vllm",
                "actor_rollout_ref.rollout.dtype=float32",
                "actor_rollout_ref.rollout.ignore_eos=true",
                f"actor_rollout_ref.rollout.max_num_seqs={args.in_flight}",
            ],
        )
        engine = open_rollout(config.actor_rollout_ref, world, model, tokenizer)
        engine.sync_weights(model.named_parameters())
        measure(engine, argparse.Namespace(**{**vars(args), "episodes": 8}), 0.0)  # whatever starts late
        found = {}
        for name, longest in (("instant", 0.0), ("asleep", args.sleep)):
            engine.sync_weights(model.named_parameters())  # forgets what was cached
            found[name] = measure(engine, args, longest)
            print(name, {key: round(value, 3) for key, value in found[name].items()}, flush=True)
        least = shortest(engine, model, args, found["asleep"]["asleep_s"])
        print_turns(engine, model, args.tokens)
        engine.close()
    over = found["asleep"]["wall_s"] / found["asleep"]["slowest_s"]
    share = found["asleep"]["tokens_per_s"] / found["instant"]["tokens_per_s"]
    print(f"all over the slowest: {over:.2f} (bar 1.3); tokens/s with slow tools: {share:.0%} (bar 80 %)")
    best = found["instant"]["wall_s"] / least
    print(f"no schedule takes less than {least:.2f} s, which would be {best:.0%}")
    return 0 if over < 1.3 and share >= 0.8 else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
