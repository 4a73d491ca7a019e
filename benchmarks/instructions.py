"""Compares the instructions of IFEval and IFBench with their public reference checkers.

    NLTK_DATA=... PYTHONPATH=. python benchmarks/instructions.py --peer PYTHON [--ifbench FOLDER]
        [--open-instruct FOLDER]

IFEval's 25 types on 2,000 responses, compared with lm-eval's `tasks/ifeval`, which PYTHON has, with
langdetect (seeded, because its answers are random), immutabledict and nltk (`punkt_tab` and `stopwords` under
NLTK_DATA). --ifbench compares with allenai/IFBench, and --open-instruct with IFEvalG, on twenty cases of each
instruction (`tests/rewards/instructions/ifbench_drawn.py`): PYTHON then also has emoji, syllapy and absl-py,
and FOLDER has the package `ifbench`, or `open_instruct` with an empty `__init__.py`. Their sentences are
split with an untrained Punkt here; no case has an abbreviation. Prints every difference.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rewardkit.rewards.instructions.instruction_reward import Instruction
from rewardkit.rewards.instructions.table import find
from tests.rewards.instructions.ifbench_drawn import PAIRS, TEST, TRAINING, draw

Case = tuple[str, dict[str, Any], str]
"""An instruction, its arguments and a response."""

TEXTS = (
    "The cat sat on the mat. It was warm, and nobody minded. Dr. Smith said so!",
    "I went to the market today. I bought apples, pears and a very old clock. Who would have thought?",
    "This is one short sentence without any comma",
    "NO ONE KNOWS WHERE THE RIVER ENDS. WE WALKED FOR DAYS AND FOUND NOTHING AT ALL.",
    "my answer is written in small letters only. it has two sentences and a few words more than that.",
    "Der Hund lief schnell über die Straße und bellte laut. Niemand hörte ihn in dieser kalten Nacht.",
    "La maison est grande et belle. Nous y avons passé tout l'été avec nos amis de Paris.",
    "El perro corre por la calle y nadie lo mira. Mañana vamos a comer en casa de mi abuela.",
    "My answer is yes.",
    "My answer is no. I am sure of it.",
    "We use U.S. data from e.g. NASA. Mr. Brown agrees with that, i.e. with all of it.",
    "First paragraph here.\n\nSecond one follows, as it should.\n\nThird and last.",
    "Dear [name], please send [amount] to [address]. Yours, [sender]",
    "* one thing\n* another thing\n- a third thing",
    "A *small* point and a **large** one, with *more* to say.",
    "<<A fine title>>\n\nOnce upon a time there was a programmer.",
    "SECTION 1\nThe start.\nSECTION 2\nThe middle.\nSECTION 3\nThe end.",
    '{"a": 1, "b": [true, null], "c": "x"}',
    '```json\n{"key": "value"}\n```',
    "First response here.\n******\nSecond response there.",
    "One part.\n***\nTwo parts.\n***\nThree parts.",
    '"Everything is quoted, from here to there."',
    "Some letter.\n\nP.S. I forgot to say hello.",
    "Some letter.\n\nP.P.S I forgot it twice.",
    "What is it? It is DON'T and CAN'T and WELL-KNOWN and I. The NASA and the USA agree.",
    "Is there anything else I can help with?",
    "",
    "123 456 789",
)
KEYWORDS = ("cat", "river", "answer", "house", "nobody", "a", "small", "point")


def instruction(kind: str, draw: random.Random) -> dict[str, Any]:
    """Return arguments for one instruction in the dataset's form."""
    relation = draw.choice(["less than", "at least"])
    small = draw.randint(1, 4)
    return {
        "keywords:existence": {"keywords": draw.sample(KEYWORDS, 2)},
        "keywords:frequency": {"keyword": draw.choice(KEYWORDS), "frequency": small, "relation": relation},
        "keywords:forbidden_words": {"forbidden_words": draw.sample(KEYWORDS, 2)},
        "keywords:letter_frequency": {
            "letter": draw.choice("aeszq"),
            "let_frequency": draw.randint(1, 9),
            "let_relation": relation,
        },
        "language:response_language": {"language": draw.choice(["en", "de", "fr", "es"])},
        "length_constraints:number_sentences": {"num_sentences": small, "relation": relation},
        "length_constraints:number_paragraphs": {"num_paragraphs": small},
        "length_constraints:number_words": {"num_words": draw.randint(5, 40), "relation": relation},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": draw.randint(1, 3),
            "nth_paragraph": 1,
            "first_word": draw.choice(["first", "the", "once", "some"]),
        },
        "detectable_content:number_placeholders": {"num_placeholders": small},
        "detectable_content:postscript": {"postscript_marker": draw.choice(["P.S.", "P.P.S"])},
        "detectable_format:number_bullet_lists": {"num_bullets": small},
        "detectable_format:number_highlighted_sections": {"num_highlights": small},
        "detectable_format:multiple_sections": {"section_spliter": "SECTION", "num_sections": small},
        "combination:repeat_prompt": {"prompt_to_repeat": draw.choice([t for t in TEXTS if t.strip()])},
        "startend:end_checker": {
            "end_phrase": draw.choice(["at all.", "Is there anything else I can help with?"])
        },
        "change_case:capital_word_frequency": {"capital_frequency": small, "capital_relation": relation},
    }.get(kind, {})


KINDS = (
    *("keywords:existence", "keywords:frequency", "keywords:forbidden_words", "keywords:letter_frequency"),
    *("language:response_language", "length_constraints:number_sentences"),
    *("length_constraints:number_paragraphs", "length_constraints:number_words"),
    *("length_constraints:nth_paragraph_first_word", "detectable_content:number_placeholders"),
    *("detectable_content:postscript", "detectable_format:number_bullet_lists"),
    *("detectable_format:constrained_response", "detectable_format:number_highlighted_sections"),
    *("detectable_format:multiple_sections", "detectable_format:json_format", "detectable_format:title"),
    *("combination:two_responses", "combination:repeat_prompt", "startend:end_checker", "startend:quotation"),
    *("change_case:capital_word_frequency", "change_case:english_capital", "change_case:english_lowercase"),
    "punctuation:no_comma",
)


def response(draw: random.Random) -> str:
    """Return one or more of the texts, changed at random."""
    joint = draw.choice([" ", "\n\n", "\n***\n", "\n******\n", "\n"])
    text = joint.join(draw.sample(TEXTS, draw.choice([1, 1, 2, 3])))
    change = draw.choice(["none", "none", "none", "upper", "lower", "quote", "strip comma", "stars"])
    if change == "upper":
        return text.upper()
    if change == "lower":
        return text.lower()
    if change == "quote":
        return f'"{text}"'
    return text.replace(",", "") if change == "strip comma" else f"**{text}**" if change == "stars" else text


def cases(n: int, seed: int) -> list[Case]:
    """Return `n` triples of instruction, arguments and response."""
    draw = random.Random(seed)
    kinds = [KINDS[i % len(KINDS)] for i in range(n)]
    found = [(kind, instruction(kind, draw), response(draw)) for kind in kinds]
    return [
        (k, a, a["prompt_to_repeat"] + " " + r if k == "combination:repeat_prompt" and i % 2 else r)
        for i, (k, a, r) in enumerate(found)
    ]


IFEVAL = """
import glob, importlib.util, json, sys, types
from langdetect import DetectorFactory
DetectorFactory.seed = 0
home = glob.glob(sys.prefix + "/lib/python3*/site-packages/lm_eval/tasks/ifeval")[0]
for name in ("lm_eval", "lm_eval.tasks", "lm_eval.tasks.ifeval"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["lm_eval.tasks.ifeval"].__path__ = [home]
from lm_eval.tasks.ifeval import instructions_registry as registry
verdicts = []
for kind, arguments, response in json.load(sys.stdin):
    checker = registry.INSTRUCTION_DICT[kind](kind)
    checker.build_description(**arguments)
    verdicts.append(bool(response.strip()) and bool(checker.check_following(response)))
json.dump(verdicts, sys.stdout)
"""
IFBENCH = """
import importlib, json, sys
import nltk
from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer
nltk.download = lambda *args, **kwargs: True
sys.path.insert(0, sys.argv[1])
util = importlib.import_module(sys.argv[2] + ".instructions_util")
punkt, treebank = PunktSentenceTokenizer(), NLTKWordTokenizer()
nltk.sent_tokenize = nltk.tokenize.sent_tokenize = punkt.tokenize
nltk.word_tokenize = nltk.tokenize.word_tokenize = treebank.tokenize
util.split_into_sentences = punkt.tokenize
registry = importlib.import_module(sys.argv[2] + ".instructions_registry")
verdicts = []
for kind, arguments, response in json.load(sys.stdin):
    try:
        checker = registry.INSTRUCTION_DICT[kind](kind)
        checker.build_description(**arguments)
        verdicts.append(bool(response.strip()) and bool(checker.check_following(response)))
    except Exception as error:
        verdicts.append(f"{type(error).__name__}: {error}"[:120])
print()
json.dump(verdicts, sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", required=True, help="interpreter that has what the references need")
    parser.add_argument("--ifbench", help="folder that holds `ifbench`")
    parser.add_argument("--open-instruct", help="folder that holds `open_instruct/IFEvalG`")
    parser.add_argument("-n", type=int, default=2_000, help="responses to IFEval's instructions")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    drawn = cases(args.n, args.seed)
    compare("IFEval", drawn, [kept(*case) for case in drawn], verdicts(args.peer, IFEVAL, drawn))
    for name, folder, package, kinds in (
        ("IFBench", args.ifbench, "ifbench", TEST),
        ("IFEvalG", args.open_instruct, "open_instruct.IFEvalG", TRAINING),
    ):
        if folder:
            made, wanted = twenty_of_each(kinds)
            compare(name, made, wanted, verdicts(args.peer, IFBENCH, made, folder, package))


def kept(kind: str, arguments: dict[str, Any], text: str) -> bool:
    """Return our verdict."""
    checker = find(kind)
    assert checker is not None, kind
    return Instruction(kind, checker, arguments).kept(text)


def twenty_of_each(kinds: Iterable[str]) -> tuple[list[Case], list[bool]]:
    """Return responses that follow and violate each instruction, and which of them follow it."""
    made: list[Case] = []
    for kind in kinds:
        for i in range(PAIRS):
            arguments, keeping, breaking = draw(kind, i)
            made += [(kind, arguments, keeping), (kind, arguments, breaking)]
    return made, [i % 2 == 0 for i in range(len(made))]


def verdicts(python: str, checker: str, made: list[Case], *arguments: str) -> list[Any]:
    """Return the reference's verdicts: True, False, or the text of its error."""
    done = subprocess.run(
        [python, "-c", checker, *arguments], input=json.dumps(made), capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(name: str, made: list[Case], ours: list[bool], theirs: list[Any], show: int = 5) -> None:
    """Print the number of different verdicts by instruction, and some examples of each."""
    differences: Counter[str] = Counter()
    for (kind, arguments, text), we, they in zip(made, ours, theirs, strict=True):
        if they is not we:
            differences[kind] += 1
            if differences[kind] <= show:
                print(f"{kind} {str(arguments)[:80]} ours {we}, theirs {they}: {text[:300]!r}")
    total = differences.total()
    print(f"{name}: {len(made)} responses, {sum(ours)} kept, {total} differences {dict(differences)}")


if __name__ == "__main__":
    main()
