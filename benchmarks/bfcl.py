"""Compares BFCL's public AST checker (gorilla's `bfcl_eval`) with `tool_call` on its own questions.

    python benchmarks/bfcl.py --bfcl FOLDER

FOLDER has `bfcl_eval` of a checkout of gorilla's berkeley-function-call-leaderboard; nothing else is needed.
Its table of models and its readers of Java and JavaScript, which need many packages, are left out. Each
question of the Python categories is answered with calls that BFCL accepts, and with the same calls changed in
one way. Prints how often the two agree for each change, and examples of every kind of difference.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rewardkit.rewards.tool_call.tool_call_reward import ToolCallOptions, score
from rewardkit.types import Sample

CATEGORIES = (
    "simple_python", "multiple", "parallel", "parallel_multiple",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple",
)  # fmt: skip

Calls = list[dict[str, dict[str, Any]]]

PEER = """
import json, sys, types
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
class Models(dict):
    def __missing__(self, name):
        return types.SimpleNamespace(underscore_to_dot=False)
model_config = types.ModuleType("bfcl_eval.constants.model_config")
model_config.MODEL_CONFIG_MAPPING = Models()
sys.modules["bfcl_eval.constants.model_config"] = model_config
for language in ("java", "js"):
    module = types.ModuleType(f"bfcl_eval.eval_checker.ast_eval.type_convertor.{language}_type_converter")
    setattr(module, f"{language}_type_converter", None)
    sys.modules[module.__name__] = module
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
found = []
for functions, calls, wanted, category in json.load(sys.stdin):
    try:
        found.append(ast_checker(functions, calls, wanted, Language.PYTHON, category, "any")["valid"])
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""


def questions(folder: Path) -> Iterator[tuple[str, list[Any], Calls]]:
    """Yield category, functions and possible answers of each question."""
    for category in CATEGORIES:
        name = f"BFCL_v4_{category}.json"
        answers = {row["id"]: row["ground_truth"] for row in _rows(folder / "possible_answer" / name)}
        for row in _rows(folder / name):
            yield category, row["function"], answers[row["id"]]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def accepted(value: Any, draw: random.Random) -> Any:
    """Return one of the accepted forms of a value in the possible answers."""
    if isinstance(value, dict):
        chosen = {
            key: draw.choice(several) if isinstance(several, list) and several else several
            for key, several in value.items()
        }
        return {key: accepted(inner, draw) for key, inner in chosen.items() if inner != ""}
    return [accepted(inner, draw) for inner in value] if isinstance(value, list) else value


def right(wanted: Calls, draw: random.Random) -> Calls:
    """Return calls that the possible answers accept."""
    calls: Calls = []
    for call in wanted:
        ((name, arguments),) = call.items()
        chosen = {key: draw.choice(several) for key, several in arguments.items() if several}
        optional = {key for key, value in chosen.items() if value == "" and "" in arguments[key]}
        calls.append({name: {k: accepted(v, draw) for k, v in chosen.items() if k not in optional}})
    return calls


def _leaf(
    change: Callable[[Any], Any], kinds: tuple[type, ...]
) -> Callable[[Calls, random.Random], Calls | None]:
    """Return a change of the first argument of these types, in a random call."""

    def made(calls: Calls, draw: random.Random) -> Calls | None:
        places = [
            (call, name, key)
            for call in calls
            for name, args in call.items()
            for key in args
            if type(args[key]) in kinds
        ]
        if not places:
            return None
        call, name, key = draw.choice(places)
        call[name][key] = change(call[name][key])
        return calls

    return made


def _renamed(calls: Calls, draw: random.Random) -> Calls | None:
    ((name, arguments),) = calls[0].items()
    return [{name + "_x": arguments}, *calls[1:]]


def _without_one(calls: Calls, draw: random.Random) -> Calls | None:
    ((_, arguments),) = calls[0].items()
    if not arguments:
        return None
    del arguments[draw.choice(sorted(arguments))]
    return calls


def _with_more(calls: Calls, draw: random.Random) -> Calls | None:
    ((_, arguments),) = calls[0].items()
    arguments["surplus"] = 1
    return calls


def _shuffled(calls: Calls, draw: random.Random) -> Calls | None:
    return draw.sample(calls, len(calls)) if len(calls) > 1 else None


CHANGES: dict[str, Callable[[Calls, random.Random], Calls | None]] = {
    "as accepted": lambda calls, draw: calls,
    "calls in another order": _shuffled,
    "arguments in another order": lambda calls, draw: [
        {n: dict(reversed(a.items())) for n, a in c.items()} for c in calls
    ],
    "a call twice": lambda calls, draw: [*calls, copy.deepcopy(calls[0])],
    "a call less": lambda calls, draw: calls[1:] if len(calls) > 1 else None,
    "another name": _renamed,
    "an argument less": _without_one,
    "an argument more": _with_more,
    "a number one more": _leaf(lambda value: value + 1, (int, float)),
    "a number negated": _leaf(lambda value: -value if value else 1, (int, float)),
    "a whole number as a float": _leaf(float, (int,)),
    "a whole float as an integer": _leaf(lambda value: int(value) if value.is_integer() else value, (float,)),
    "a number as a text": _leaf(str, (int, float)),
    "a truth turned": _leaf(lambda value: not value, (bool,)),
    "a truth as a number": _leaf(int, (bool,)),
    "a text in capitals": _leaf(str.upper, (str,)),
    "a text with a word more": _leaf(lambda value: value + " more", (str,)),
    "a text with a point at its end": _leaf(lambda value: value + ".", (str,)),
    "a text with a sign before it": _leaf(lambda value: "-" + value, (str,)),
    "a text without blanks": _leaf(lambda value: value.replace(" ", ""), (str,)),
    "a text emptied": _leaf(lambda value: "", (str,)),
    "a list reversed": _leaf(lambda value: value[::-1], (list,)),
    "a list with an item twice": _leaf(lambda value: [*value, *value[:1]], (list,)),
    "a list as a text": _leaf(json.dumps, (list,)),
    "a list of the floats of its integers": _leaf(
        lambda value: [float(v) if type(v) is int else v for v in value], (list,)
    ),
    "an object with a key more": _leaf(lambda value: {**value, "surplus": 1}, (dict,)),
    "an object with a key less": _leaf(lambda value: dict(list(value.items())[1:]), (dict,)),
}


def response(calls: Calls) -> str:
    """Return the calls in hermes format."""
    written = [{"name": name, "arguments": args} for call in calls for name, args in call.items()]
    return "\n".join(f"<tool_call>\n{json.dumps(one, ensure_ascii=False)}\n</tool_call>" for one in written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bfcl", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    drawn = []
    for category, functions, wanted in questions(args.bfcl / "bfcl_eval" / "data"):
        for kind, change in CHANGES.items():
            calls = change(right(wanted, draw), draw)
            if calls is not None:
                drawn.append((kind, functions, calls, wanted, category))
    asked = json.dumps([list(one[1:]) for one in drawn])
    command = [sys.executable, "-c", PEER, str(args.bfcl)]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(answer.stderr)
    compare(drawn, json.loads(answer.stdout), args.show)


def compare(drawn: list[Any], theirs: list[Any], show: int) -> None:
    """Print how often the two agree, by the kind of change, and examples of their differences."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in CHANGES}
    for (kind, _, calls, wanted, category), they in zip(drawn, theirs, strict=True):
        found = score(Sample(f"bfcl_{category}", response(calls), json.dumps(wanted)), ToolCallOptions())
        we = found.correct if found.status == "ok" else found.status
        what = "same" if we == they else f"ours {we}, BFCL {they if isinstance(they, bool) else 'raises'}"
        counts[kind][what] += 1
        counts[kind]["right" if they is True else "wrong"] += 1
        if what != "same" and counts[kind][what] <= show:
            print(f"  {kind}: {what}: {json.dumps(calls)[:300]} wanted {json.dumps(wanted)[:300]}")
    total: Counter[str] = Counter()
    for kind, found in counts.items():
        total += found
        different = {what: n for what, n in found.items() if what.startswith("ours")}
        by_bfcl = f"{found['right']:5} right {found['wrong']:5} wrong by BFCL"
        print(f"{kind:40} {by_bfcl}, differences {different or 0}")
    print(f"{len(drawn)} responses, {len(drawn) - total['same']} differences")


if __name__ == "__main__":
    main()
