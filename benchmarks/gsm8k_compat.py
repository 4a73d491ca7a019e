"""Does `compat="verl"` agree with verl's own GSM8K function, on references and on mutated responses?

    python benchmarks/gsm8k_compat.py --raw GSM8K_FOLDER [--verl path/to/reward_score/gsm8k.py]

Run it with rewardkit importable and verl installed (`pip install --no-deps verl==0.9.1` is enough: the
one file is loaded by its path, so neither torch nor ray is needed). Exits with 1 on any disagreement.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.datasets_prep.gsm8k import final_number
from rewardkit.rewards.gsm8k import verl_score

N_MUTATED = 10_000
METHODS = ("strict", "flexible")
FORMAT_SCORES = (0.0, 0.1, -1.0)
ODD_GOLDS: tuple[Any, ...] = ("", ".", ",", "-", "-.", "7.", "1,234", " 72", "#### 72", 72, 72.0, None)

Mutation = Callable[[random.Random, str, str], str]
"""Random source, response, its final number -> another response."""


def load_verl(path: Path | None) -> ModuleType:
    """Load verl's `utils/reward_score/gsm8k.py` by path, without importing verl itself."""
    if path is None:
        spec = importlib.util.find_spec("verl")
        if spec is None or not spec.submodule_search_locations:
            sys.exit("verl is not installed here; pip install --no-deps verl==0.9.1, or pass --verl FILE")
        path = Path(spec.submodule_search_locations[0], "utils", "reward_score", "gsm8k.py")
    spec = importlib.util.spec_from_file_location("verl_gsm8k", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _around(before: str, after: str) -> Mutation:
    """Put text before and after the final number."""
    return lambda _, text, gold: text[: text.rfind("####")] + f"#### {before}{gold}{after}"


def _random_text(alphabet: str, longest: int) -> Mutation:
    return lambda rng, *_: "".join(rng.choices(alphabet, k=rng.randrange(longest)))


def _insert(rng: random.Random, text: str, _: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("0123456789.,-$#* \n\t\0٣７½−\u00a0\u2028é😀") + text[at:]


def _delete(rng: random.Random, text: str, _: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randrange(1, 6) :]


MUTATIONS: dict[str, Mutation] = {
    "period after": _around("", "."),
    "comma after": _around("", ","),
    "commas inside": lambda _, t, g: t[: t.rfind("####")] + "#### " + ",".join(g),
    "decimals": _around("", ".00"),
    "dollar": _around("$", ""),
    "bold": _around("**", "**"),
    "minus": _around("-", ""),
    "two minuses": _around("--", ""),
    "plus": _around("+", ""),
    "leading zeros": _around("00", ""),
    "percent and unit": _around("", "% of the apples"),
    "second number": _around("", " or 7"),
    "two spaces": _around(" ", ""),
    "newline": _around("\n", "\n"),
    "no-break space": _around("\u00a0", ""),
    "NUL": _around("\0", "\0"),
    "no space": lambda _, t, g: t.replace("#### ", "####"),
    "five hashes": lambda _, t, g: t.replace("####", "#####"),
    "three hashes": lambda _, t, g: t.replace("####", "###"),
    "no marker": lambda _, t, g: t.replace("####", "The answer is"),
    "full-width digits": lambda _, t, g: t.replace(g, "".join(chr(ord(c) + 0xFEE0) for c in g)),
    "arabic digits": lambda _, t, g: t + "".join(chr(0x660 + int(c)) for c in g if c.isdigit()),
    "marker again": lambda r, t, g: f"{t}\n#### {r.randrange(100)}",
    "marker first": lambda r, t, g: f"#### {r.randrange(100)}\n{t}",
    "text after": lambda r, t, g: t + " So that is it." * r.randrange(1, 40),
    "number after": lambda r, t, g: t + f" That took {r.randrange(100)} steps.",
    "spaces after": lambda r, t, g: t + " " * r.randrange(280, 310),
    "clipped at the marker": lambda r, t, g: t + "x" * (300 - len(g) - r.randrange(-3, 8)),
    "very long": lambda _, t, g: t * 400,
    "very long number": lambda _, t, g: t + "0" * 5_000,
    "empty": lambda *_: "",
    "whitespace": lambda *_: " \n\t ",
    "points only": lambda *_: "a . b . , ..",
    "one point": lambda *_: "Well. So. Yes.",
    "minus and point": lambda *_: "#### -. and -",
    "commas only": lambda *_: "#### ,,",
    "insert": _insert,
    "delete": _delete,
    "random text from the grammar": _random_text("#### 0123456789.,-$\n", 80),
    "random text": _random_text("".join(map(chr, [*range(0x250), 0x660, 0x967, 0xFF11, 0x1F600])), 400),
}


def references(raw: Path) -> list[tuple[str, str]]:
    """The published solutions and their final numbers."""
    found = []
    for split in ("train", "test"):
        with open(raw / f"{split}.jsonl", encoding="utf-8") as lines:
            for line in lines:
                answer = json.loads(line)["answer"]
                found.append((answer, final_number(answer, split)))
    return found


def mutated(rng: random.Random, pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str, Any]]:
    """Each mutation in turn on a random reference: its name, the response, the ground truth."""
    for name in itertools.cycle(MUTATIONS):
        text, gold = rng.choice(pairs)
        response = MUTATIONS[name](rng, text, gold)
        yield name, response, rng.choice([gold] * 9 + [rng.choice(ODD_GOLDS)])


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--raw", type=Path, required=True, help="folder with train.jsonl and test.jsonl")
    parser.add_argument(
        "--verl", type=Path, help="verl's reward_score/gsm8k.py; by default the installed one"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verl = load_verl(arguments.verl)
    pairs = references(arguments.raw)
    cases: list[tuple[str, str, Any]] = [("reference", text, gold) for text, gold in pairs]
    cases += itertools.islice(mutated(random.Random(arguments.seed), pairs), N_MUTATED)

    compared: Counter[str] = Counter()
    rewarded: Counter[str] = Counter()
    disagreed = 0
    for name, response, gold in cases:
        kind = "reference" if name == "reference" else "mutated"
        for method, format_score in itertools.product(METHODS, FORMAT_SCORES):
            theirs = verl.compute_score(response, gold, method=method, format_score=format_score)
            ours = verl_score(response, gold, method=method, format_score=format_score)
            compared[kind] += 1
            rewarded[f"{kind} {theirs:g}"] += 1
            if float(theirs) != ours:
                disagreed += 1
                print(f"{name}, {method}: verl {theirs}, ours {ours}: {response[-80:]!r}, gold {gold!r}")
    for kind, n in compared.items():
        values = ", ".join(
            f"{v.split()[1]}: {c:,}" for v, c in sorted(rewarded.items()) if v.startswith(kind)
        )
        print(f"{kind}: {n:,} calls compared ({values})")
    print(f"{len(cases):,} responses, {len(MUTATIONS)} mutations, {disagreed} disagreements")
    return 1 if disagreed else 0


if __name__ == "__main__":
    sys.exit(main())
