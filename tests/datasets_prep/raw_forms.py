"""Every dataset in its true raw form, small: file names, columns and types as published, values ours.

`FORMS` holds for each set one or several forms, each a mapping of paths to content: rows for jsonl, parquet, csv
and json files, a text for any other. `write` puts one into a folder.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]
Form = Mapping[str, Any]

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"
DOUBLE = "print(2 * int(input()))"
TRAIN = "train-00000-of-00001.parquet"
TEST = "test-00000-of-00001.parquet"
VALIDATION = "validation-00000-of-00001.parquet"


def write(form: Form, folder: Path) -> Path:
    """Write the files of a form into a folder; return the folder."""
    for name, content in form.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content)
    return folder


def _write(path: Path, content: Any) -> None:
    plain = path.name.removesuffix(".gz")
    lines = plain.endswith(".jsonl") or (isinstance(content, list) and path.name.startswith("BFCL"))
    if isinstance(content, str):
        path.write_text(content)
    elif plain.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(content), path)
    elif plain.endswith(".csv"):
        _write_csv(path, content)
    else:
        text = "".join(json.dumps(r) + "\n" for r in content) if lines else json.dumps(content)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _write_csv(path: Path, rows: Any) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        if rows and isinstance(rows[0], dict):
            writer.writerow(rows[0])
            rows = [row.values() for row in rows]
        writer.writerows(rows)


GSM8K: Rows = [
    {"question": "Ann has 3 dozen eggs. How many?", "answer": "3*12=<<3*12=36>>36\n#### 36"},
    {"question": "Bob owes 1,000 twice. How much has he?", "answer": "It is less than 0.\n#### -2,000"},
]
MATH = {
    "problem": "Simplify $\\frac{6}{8}$.",
    "level": "Level 1",
    "type": "Prealgebra",
    "solution": "Cancel 2: $\\boxed{\\frac{3}{4}}$.",
}
SOLVED = {"problem": "Find $2+3$.", "solution": "We add: $\\boxed{5}$.", "answer": "5"}
DAPO_HEAD = "Solve the following. The last line should be of the form Answer: $Answer."
DAPO_TAIL = 'Remember to put your answer on its own line after "Answer:".'
DAPO = {
    "data_source": "math_dapo",
    "prompt": [{"content": f"{DAPO_HEAD}\n\nFind $2+3$.\n\n{DAPO_TAIL}", "role": "user"}],
    "ability": "MATH",
    "reward_model": {"ground_truth": "5", "style": "rule-lighteval/MATH_v2"},
    "extra_info": {"index": "9f0c"},
}
NUMINA = {
    **SOLVED,
    "problem_type": "Algebra",
    "question_type": "math-word-problem",
    "problem_is_valid": "Yes",
    "solution_is_valid": "Yes",
    "source": "cn_k12",
    "synthetic": False,
}
SKYWORK = {
    "data_source": "train-math-x",
    "prompt": [{"content": "Find $2+3$.", "role": "user"}],
    "ability": "math",
    "reward_model": {"ground_truth": '["5"]', "style": "rule"},
    "extra_info": {"index": 1, "model_difficulty": {"DeepSeek-R1-Distill-Qwen-7B": 3}},
}
OPEN_R1 = {
    **SOLVED,
    "problem_type": "Algebra",
    "question_type": "math-word-problem",
    "source": "olympiads",
    "uuid": "u1",
    "is_reasoning_complete": [True],
    "generations": ["..."],
    "correctness_math_verify": [True],
    "correctness_llama": None,
    "finish_reasons": None,
    "correctness_count": 1,
    "messages": [{"role": "user", "content": "Find $2+3$."}],
}
OLYMPIAD = {
    "id": 7,
    "subfield": "Algebra",
    "context": None,
    "question": "Find all $x$ with $x^2=4$.",
    "solution": ["Either sign."],
    "final_answer": ["$2,-2$"],
    "is_multiple_answer": True,
    "unit": None,
    "answer_type": "Numerical",
    "error": None,
}
MINERVA = {
    "problem": "How many litres?",
    "solution": "It is \\boxed{3.5} litres.",
    "type": "Chemistry",
    "idx": 3,
}
APPS = {
    "problem_id": 7,
    "question": "Double the number.",
    "solutions": json.dumps([DOUBLE]),
    "input_output": json.dumps({"inputs": ["1\n", "5\n"], "outputs": ["2\n", "10\n"]}),
    "difficulty": "introductory",
    "url": "https://example.org/7",
    "starter_code": "",
}
TACO = {
    **{k: v for k, v in APPS.items() if k != "problem_id"},
    "difficulty": "EASY",
    "raw_tags": "[]",
    "name": None,
    "source": "codechef",
    "tags": "[]",
    "skill_types": "[]",
    "Expected Auxiliary Space": None,
    "time_limit": "2.0 seconds",
    "date": None,
    "picture_num": None,
    "memory_limit": None,
    "Expected Time Complexity": None,
}
CONTEST = {
    "name": "7_A. Double",
    "description": "Double the number.",
    "public_tests": {"input": ["1\n"], "output": ["2\n"]},
    "private_tests": {"input": [], "output": []},
    "generated_tests": {"input": ["5\n"], "output": ["10\n"]},
    "source": 2,
    "difficulty": 7,
    "solutions": {"language": [1, 3], "solution": ["print 2 * input()", DOUBLE]},
    "incorrect_solutions": {"language": [3], "solution": ["print(1)"]},
    "cf_rating": 800,
    "cf_tags": ["math"],
    "time_limit": {"seconds": 1, "nanos": 0},
    "memory_limit_bytes": 256000000,
    "input_file": "",
    "output_file": "",
}
LIVE = {
    "question_title": "Double",
    "question_content": "Double the number.",
    "platform": "atcoder",
    "question_id": "abc1_a",
    "contest_id": "abc1",
    "contest_date": "2024-05-01T00:00:00",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps([{"input": "1\n", "output": "2\n", "testtype": "stdin"}]),
    "private_test_cases": "[]",
    "metadata": "{}",
}
CODEFORCES = {
    "id": "852/A",
    "aliases": None,
    "contest_name": "Round 1",
    "contest_start_year": 2017,
    "index": "A",
    "time_limit": 1.0,
    "memory_limit": 256.0,
    "title": "Double",
    "description": "Double the number.",
    "input_format": "A number.",
    "output_format": "Its double.",
    "interaction_format": None,
    "note": None,
    "examples": [{"input": "1\n", "output": "2\n"}],
    "rating": 800,
    "tags": ["math"],
    "official_tests": [{"input": "1\n", "output": "2\n"}],
    "official_tests_complete": True,
    "input_mode": "stdio",
    "generated_checker": None,
}
KODCODE = {
    "style": "instruct",
    "subset": "Prefill",
    "question_id": "Prefill_1_I",
    "question": "Write a function that doubles a number.",
    "solution": "def double(x):\n    return 2 * x",
    "test_code": "from solution import double\n\ndef test_one():\n    assert double(1) == 2\n\ndef test_two():\n    assert double(0) == 0\n",
    "test_info": [
        {
            "function_declaration": "def double(x):",
            "function_name": "double",
            "docstring": "",
            "parameter_list": "(x)",
        }
    ],
    "gpt_pass_percentage": 1.0,
    "gpt_difficulty": "easy",
    "benchmark_similarity": 0.1,
}
LEETCODE = {
    "task_id": "double-it",
    "question_id": 7,
    "difficulty": "Easy",
    "tags": ["Math"],
    "problem_description": "Double the number.",
    "starter_code": "class Solution:\n    def double(self, x: int) -> int:\n        ",
    "estimated_date": "2024-01-01",
    "prompt": "from typing import *\n",
    "completion": "class Solution:\n    def double(self, x: int) -> int:\n        return 2 * x",
    "entry_point": "Solution().double",
    "test": "def check(candidate):\n    assert candidate(x = 1) == 2\n    assert candidate(x = 5) == 10\n",
    "input_output": [{"input": "x = 1", "output": "2"}],
    "query": "Double the number.",
    "response": "class Solution: ...",
}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def inc(x):\n    """Add one."""\n',
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    "entry_point": "inc",
}
HUMANEVAL_X = {
    "task_id": "JavaScript/0",
    "prompt": "/* Add one. */\nconst inc = (x) => {\n",
    "declaration": "\nconst inc = (x) => {\n",
    "canonical_solution": "  return x + 1;\n}\n",
    "test": "const testInc = () => {\n  console.assert(inc(1) === 2)\n}\n\ntestInc()\n",
    "example_test": "",
}
HUMANEVAL_X_PYTHON = {
    "task_id": "Python/0",
    "prompt": 'def inc(x):\n    """Add one in Python."""\n',
    "declaration": "def inc(x):\n",
    "canonical_solution": "    return x + 1\n",
    "test": "def check(inc):\n    assert inc(1) == 2\n\ncheck(inc)\n",
}
MULTIPL_E = {
    "name": "HumanEval_0_inc",
    "language": "js",
    "prompt": "//Add one.\nfunction inc(x){\n",
    "doctests": "transform",
    "tests": "const assert = require('node:assert');\n\nfunction test() {\n  let candidate = inc;\n"
    "  assert.deepEqual(candidate(1),2);\n}\n\ntest();",
    "stop_tokens": ["\nfunction "],
}
MBPP: Rows = [
    {
        "task_id": number,
        "text": f"Add {number} to a number.",
        "code": f"def f(x):\r\n  return x + {number}",
        "test_list": [f"assert f(1) == {number + 1}"],
        "test_setup_code": "",
        "challenge_test_list": [],
    }
    for number in (2, 11, 511, 601)
]
HELLASWAG = {
    "ind": 4,
    "activity_label": "Baking",
    "ctx_a": "A cook mixes flour [step] and water.",
    "ctx_b": "the dough",
    "ctx": "A cook mixes flour and water. the dough",
    "endings": ["rises.", "sings.", "flies.", "reads."],
    "source_id": "x~1",
    "split": "train",
    "split_type": "indomain",
    "label": "0",
}
MMLU = {"question": "2 + 2?", "subject": "arithmetic", "choices": ["3", "4", "5", "6"], "answer": 1}
MMLU_PRO = {
    "question_id": 70,
    "question": "2 + 2?",
    "options": ["3", "4", "5", "6", "7", "8", "9", "10", "11", "12"],
    "answer": "B",
    "answer_index": 1,
    "cot_content": "",
    "category": "math",
    "src": "ours",
}
GPQA = {
    "Record ID": "rec1",
    "Question": "Which is a noble gas?",
    "Correct Answer": "Neon",
    "Incorrect Answer 1": "Oxygen",
    "Incorrect Answer 2": "Chlorine",
    "Incorrect Answer 3": "Iron",
    "Explanation": "Group 18.",
    "Subdomain": "Chemistry",
    "Canary String": "",
}
ARC = {
    "id": "M1",
    "question": "Which is a planet?",
    "choices": {"text": ["Mars", "Sun", "Moon"], "label": ["1", "2", "3"]},
    "answerKey": "1",
}
ARC_ORIGINAL = {
    "id": "M1",
    "question": {
        "stem": "Which is a planet?",
        "choices": [{"text": "Sun", "label": "A"}, {"text": "Mars", "label": "B"}],
    },
    "answerKey": "B",
}
CSQA = {
    "id": "c1",
    "question": "Where do fish live?",
    "question_concept": "fish",
    "choices": {"label": list("ABCDE"), "text": ["tree", "sky", "water", "sand", "fire"]},
    "answerKey": "C",
}
NQ = {"question": "who wrote faust", "answer": ["Goethe", "Johann Wolfgang von Goethe"]}
FLASHRAG = {
    "id": "train_0",
    "question": "who wrote faust",
    "golden_answers": ["Goethe"],
    "metadata": {"x": 1},
}
TRIVIAQA = {
    "question": "Who wrote Faust?",
    "question_id": "tc_1",
    "question_source": "ours",
    "entity_pages": {"doc_source": [], "title": []},
    "answer": {
        "aliases": ["Goethe", "J. W. Goethe"],
        "normalized_aliases": ["goethe", "j w goethe"],
        "value": "Goethe",
        "normalized_value": "goethe",
        "type": "WikipediaEntity",
    },
}
HOTPOT = {
    "id": "h1",
    "question": "Is Faust older than Ulysses?",
    "answer": "yes",
    "type": "comparison",
    "level": "easy",
    "supporting_facts": {"title": ["Faust"], "sent_id": [0]},
    "context": {"title": ["Faust"], "sentences": [["A play."]]},
}
SQUAD = {
    "id": "s1",
    "title": "Faust",
    "context": "Faust is a play by Goethe of 1808.",
    "question": "Who wrote Faust?",
    "answers": {"text": ["Goethe", "Goethe"], "answer_start": [19, 19]},
}
SQUAD_ORIGINAL = {
    "version": "1.1",
    "data": [
        {
            "title": "Faust",
            "paragraphs": [
                {
                    "context": SQUAD["context"],
                    "qas": [
                        {"id": "s1", "question": "Who?", "answers": [{"text": "Goethe", "answer_start": 19}]},
                        {"id": "s2", "question": "Why?", "answers": []},
                    ],
                }
            ],
        }
    ],
}
DROP = {
    "section_id": "n1",
    "query_id": "q1",
    "passage": "Ann kicked 2 goals, Bob 3.",
    "question": "Who kicked goals?",
    "answers_spans": {"spans": ["Ann", "Bob"], "types": ["span", "span"]},
}
_NONE = {"day": "", "month": "", "year": ""}
DROP_ORIGINAL = {
    "n1": {
        "passage": "Ann kicked 2 goals, Bob 3.",
        "qa_pairs": [
            {
                "question": "How many?",
                "query_id": "q1",
                "answer": {"number": "5", "date": _NONE, "spans": []},
                "validated_answers": [{"number": "five", "date": _NONE, "spans": []}],
            }
        ],
        "wiki_url": "",
    }
}
SEARCHR1 = {
    **FLASHRAG,
    "data_source": "nq",
    "prompt": [{"role": "user", "content": "Answer the question: who wrote faust?"}],
    "ability": "fact-reasoning",
    "reward_model": {"ground_truth": {"target": ["Goethe"]}, "style": "rule"},
    "extra_info": {"index": 0, "split": "train"},
}
GEO3K = {
    "images": [{"bytes": PNG, "path": None}],
    "problem": "<image>Find x.",
    "answer": "2 \\sqrt { 221 }",
}
IFEVAL = {
    "key": 1000,
    "prompt": "Write two sentences without commas, and say hello twice.",
    "instruction_id_list": ["punctuation:no_comma", "keywords:frequency"],
    "kwargs": [{}, {"relation": "at least", "keyword": "hello", "frequency": 2}],
}
_NAMES = ("N", "keyword", "num_words", "relation")
IFBENCH = {
    "key": "1",
    "prompt": "Use many conjunctions.",
    "instruction_id_list": ["count:conjunctions"],
    "kwargs": [{**dict.fromkeys(_NAMES), "small_n": 3.0}],
}
BFCL_TOOL = {
    "name": "double",
    "description": "Doubles.",
    "parameters": {
        "type": "dict",
        "properties": {"n": {"type": "integer", "description": "What to double."}},
        "required": ["n"],
    },
}


def _bfcl(identity: str) -> dict[str, Any]:
    return {"id": identity, "question": [[{"role": "user", "content": "Double 4."}]], "function": [BFCL_TOOL]}


_PAIR = {
    "prompt": "\n\nHuman: Hi\n\nAssistant:",
    "response": " Hello.",
    "chosen": " Hello.",
    "rejected": " No.",
}
_DIALOGUE = {"chosen": "\n\nHuman: Hi\n\nAssistant: Hello.", "rejected": "\n\nHuman: Hi\n\nAssistant: No."}

FORMS: dict[str, list[Form]] = {
    "gsm8k": [
        {
            "data/train.jsonl": GSM8K,
            "data/test.jsonl": [{"question": "Q?", "answer": "#### 1"}],
            "data/train_socratic.jsonl": GSM8K,
        },
        {
            f"main/{TRAIN}": GSM8K,
            f"main/{TEST}": [{"question": "Q?", "answer": "#### 1"}],
            f"socratic/{TRAIN}": GSM8K,
        },
    ],
    "math": [
        {"MATH/train/algebra/1.json": MATH, "MATH/test/geometry/7.json": MATH},
        {
            f"data/{TRAIN}": [MATH],
            f"data/{TEST}": [{k: MATH[k] for k in ("problem", "level", "solution", "type")}],
        },
    ],
    "math500": [
        {"test.jsonl": [{**SOLVED, "subject": "Algebra", "level": 2, "unique_id": "test/algebra/7.json"}]}
    ],
    "aime": [
        {
            "data/aime-2024.parquet": [
                {**DAPO, "extra_info": {"index": n, "raw_problem": "?"}} for n in (0, 1)
            ]
        },
        {
            "AIME_2024_Problems.csv": [
                {"ID": "2024-I-1", "Problem": "Find x.", "Solution": "It is 33.", "Answer": 33}
            ]
        },
        {
            f"data/{TRAIN}": [
                {"id": 60, **SOLVED, "answer": "025", "url": "https://example.org", "year": "2024"}
            ]
        },
        {
            "aime2025-I.jsonl": [{"question": "Find x.", "answer": "70"}],
            "aime2025-II.jsonl": [{"question": "Find y.", "answer": "71"}],
        },
        {
            "test.jsonl": [
                {"id": 60, "problem": "Find x.", "solution": "\\boxed{204}", "url": "https://example.org"}
            ]
        },
    ],
    "amc": [
        {
            f"aimo-validation-amc/data/{TRAIN}": [
                {"id": 0, "problem": "Find x.", "answer": 142.0, "url": "https://example.org"}
            ]
        }
    ],
    "olympiad": [
        {
            "OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet": [OLYMPIAD],
            "TP_TO_maths_en_COMP/TP_TO_maths_en_COMP.parquet": [{"question": "Prove."}],
        }
    ],
    "minerva": [{"minerva_math/test.jsonl": [MINERVA]}],
    "dapo-math": [
        {"data/dapo-math-17k.parquet": [DAPO, DAPO]},
        {
            f"all/{TRAIN}": [
                {
                    "prompt": "Find $2+3$.",
                    "solution": "5",
                    "data_source": "math_dapo",
                    "source_prompt": DAPO["prompt"],
                    "ability": "MATH",
                    "reward_model": DAPO["reward_model"],
                    "extra_info": {"index": "9"},
                }
            ]
        },
    ],
    "numina": [
        {
            f"data/{TRAIN}": [
                NUMINA,
                {**NUMINA, "problem": "Prove it.", "answer": "proof", "solution": "Q.E.D."},
            ]
        },
        {
            f"data/{TRAIN}": [
                {
                    "source": "aops_forum",
                    "problem": "Find $2+3$.",
                    "solution": "$\\boxed{5}$",
                    "messages": [{"content": "x", "role": "user"}],
                }
            ],
            f"data/{TEST}": [{"source": "olympiads", **SOLVED}],
        },
    ],
    "deepscaler": [{"deepscaler.json": [SOLVED, {"problem": "Find y.", "answer": "", "solution": ""}]}],
    "bigmath": [
        {
            f"data/{TRAIN}": [
                {
                    "problem": "Find $2+3$.",
                    "answer": "5",
                    "source": "orca_math",
                    "domain": ["Mathematics"],
                    "llama8b_solve_rate": 0.5,
                }
            ]
        }
    ],
    "skywork": [
        {"data/math-00000-of-00001.parquet": [SKYWORK], "data/code-00000-of-00001.parquet": [SKYWORK]}
    ],
    "open-r1": [{f"data/{TRAIN}": [OPEN_R1], "extended/train-00000-of-00001.parquet": [OPEN_R1]}],
    "geo3k": [{f"data/{TRAIN}": [GEO3K], f"data/{VALIDATION}": [GEO3K], f"data/{TEST}": [GEO3K]}],
    "humaneval": [{"HumanEval.jsonl.gz": [HUMANEVAL]}, {f"openai_humaneval/{TEST}": [HUMANEVAL]}],
    "humaneval-x": [
        {
            "js/data/humaneval_js.jsonl.gz": [HUMANEVAL_X],
            "python/data/humaneval_python.jsonl.gz": [HUMANEVAL_X_PYTHON],
        }
    ],
    "multipl-e": [
        {"prompts/humaneval-js-reworded.jsonl": [MULTIPL_E, {**MULTIPL_E, "language": "lua"}]},
        {f"humaneval-js/{TEST}": [MULTIPL_E]},
    ],
    "mbpp": [
        {"mbpp.jsonl": MBPP, "sanitized-mbpp.json": []},
        {
            "sanitized-mbpp.json": [
                {
                    "source_file": "x",
                    "task_id": n,
                    "prompt": f"Return {n}.",
                    "code": f"def f():\n  return {n}",
                    "test_imports": [],
                    "test_list": [f"assert f() == {n}"],
                }
                for n in (11, 602)
            ]
        },
        {
            f"full/{TRAIN}": MBPP[3:],
            f"full/{TEST}": MBPP[1:2],
            f"full/{VALIDATION}": MBPP[2:3],
            "full/prompt-00000-of-00001.parquet": MBPP[:1],
        },
    ],
    "apps": [
        {"train.jsonl": [APPS], "test.jsonl": [APPS]},
        {
            "train/0000/question.txt": "Double the number.",
            "train/0000/solutions.json": [DOUBLE],
            "train/0000/input_output.json": {"inputs": ["1\n"], "outputs": ["2\n"]},
            "train/0000/metadata.json": {"difficulty": "interview", "url": "https://example.org"},
            "test/0001/question.txt": "Double the number.",
            "test/0001/input_output.json": {"fn_name": "double", "inputs": [[1]], "outputs": [[2]]},
            "test/0001/starter_code.py": "class Solution:\n    def double(self, x):\n",
        },
    ],
    "taco": [{f"ALL/{TRAIN}": [TACO], f"ALL/{TEST}": [TACO]}],
    "code_contests": [
        {
            "data/train-00000-of-00039-e991a271dbfa9925.parquet": [CONTEST],
            "data/valid-00000-of-00001-5e672c5751f060d3.parquet": [CONTEST],
            "data/test-00000-of-00001-9c49eeff30aacaa8.parquet": [CONTEST],
        }
    ],
    "livecodebench": [{"test.jsonl": [LIVE], "test2.jsonl": [LIVE]}],
    "codeforces": [
        {
            f"verifiable/{TRAIN}": [CODEFORCES, {**CODEFORCES, "input_mode": "file"}],
            f"verifiable/{TEST}": [CODEFORCES],
            f"data/{TRAIN}": [CODEFORCES],
        }
    ],
    "kodcode": [{f"data/{TRAIN}": [KODCODE], "data/use_with_caution-00000-of-00001.parquet": [KODCODE]}],
    "leetcode": [
        {
            "data/LeetCodeDataset-v0.3.1-train.jsonl.gz": [LEETCODE],
            "data/LeetCodeDataset-v0.3.1-test.jsonl.gz": [LEETCODE],
        }
    ],
    "hellaswag": [
        {
            f"data/{TRAIN}": [HELLASWAG],
            f"data/{VALIDATION}": [HELLASWAG],
            f"data/{TEST}": [{**HELLASWAG, "label": ""}],
        },
        {
            "hellaswag_train.jsonl": [{**HELLASWAG, "label": 2}],
            "hellaswag_val.jsonl": [HELLASWAG],
            "hellaswag_test.jsonl": [HELLASWAG],
        },
    ],
    "mmlu": [
        {
            f"all/{TEST}": [MMLU],
            f"all/{VALIDATION}": [MMLU],
            "all/dev-00000-of-00001.parquet": [MMLU],
            "all/auxiliary_train-00000-of-00001.parquet": [{"train": MMLU}],
        },
        {
            "data/test/anatomy_test.csv": [["2 + 2?", "3", "4", "5", "6", "B"]],
            "data/val/anatomy_val.csv": [["1 + 1?", "2", "3", "4", "5", "A"]],
            "data/dev/anatomy_dev.csv": [["x", "1", "2", "3", "4", "A"]],
        },
    ],
    "mmlu-pro": [{f"data/{TEST}": [MMLU_PRO], f"data/{VALIDATION}": [{**MMLU_PRO, "options": ["3", "4"]}]}],
    "gpqa": [{"gpqa_diamond.csv": [GPQA], "gpqa_main.csv": [GPQA, GPQA], "gpqa_experts.csv": [{"x": 1}]}],
    "arc": [
        {
            f"ARC-Challenge/{TRAIN}": [ARC],
            f"ARC-Challenge/{VALIDATION}": [ARC],
            f"ARC-Challenge/{TEST}": [ARC],
            f"ARC-Easy/{TRAIN}": [ARC],
        },
        {
            "ARC-V1/ARC-Challenge/ARC-Challenge-Train.jsonl": [ARC_ORIGINAL],
            "ARC-V1/ARC-Challenge/ARC-Challenge-Dev.jsonl": [ARC_ORIGINAL],
            "ARC-V1/ARC-Challenge/ARC-Challenge-Test.jsonl": [ARC_ORIGINAL],
        },
    ],
    "csqa": [
        {f"data/{TRAIN}": [CSQA], f"data/{VALIDATION}": [CSQA], f"data/{TEST}": [{**CSQA, "answerKey": ""}]},
        {
            "train_rand_split.jsonl": [ARC_ORIGINAL],
            "dev_rand_split.jsonl": [ARC_ORIGINAL],
            "test_rand_split_no_answers.jsonl": [{"question": {}}],
        },
    ],
    "nq": [
        {f"nq_open/{TRAIN}": [NQ], f"nq_open/{VALIDATION}": [NQ]},
        {"nq/train.jsonl": [FLASHRAG], "nq/dev.jsonl": [FLASHRAG], "nq/test.jsonl": [FLASHRAG]},
    ],
    "triviaqa": [
        {
            f"rc.nocontext/{TRAIN}": [TRIVIAQA],
            f"rc.nocontext/{VALIDATION}": [TRIVIAQA],
            f"rc/{TRAIN}": [TRIVIAQA],
        },
        {
            "qa/wikipedia-train.json": {
                "Data": [{"Question": "Who?", "Answer": {"Value": "Goethe", "Aliases": ["Goethe"]}}]
            }
        },
    ],
    "hotpotqa": [
        {f"distractor/{TRAIN}": [HOTPOT], f"distractor/{VALIDATION}": [HOTPOT]},
        {
            "hotpot_train_v1.1.json": [
                {
                    "_id": "h",
                    "question": "Who?",
                    "answer": "Goethe",
                    "type": "bridge",
                    "level": "easy",
                    "supporting_facts": [["F", 0]],
                    "context": [["F", ["A."]]],
                }
            ],
            "hotpot_dev_distractor_v1.json": [HOTPOT],
            "hotpot_dev_fullwiki_v1.json": [HOTPOT],
        },
    ],
    "squad": [
        {f"plain_text/{TRAIN}": [SQUAD], f"plain_text/{VALIDATION}": [SQUAD]},
        {"train-v1.1.json": SQUAD_ORIGINAL, "dev-v1.1.json": SQUAD_ORIGINAL},
    ],
    "drop": [
        {
            f"data/{TRAIN}": [DROP],
            f"data/{VALIDATION}": [
                {**DROP, "answers_spans": {"spans": ["3", "3"], "types": ["number", "number"]}}
            ],
        },
        {"drop_dataset_train.json": DROP_ORIGINAL, "drop_dataset_dev.json": DROP_ORIGINAL},
    ],
    "searchr1": [{"train.parquet": [SEARCHR1], "test.parquet": [{**SEARCHR1, "data_source": "hotpotqa"}]}],
    "ifeval": [{"ifeval_input_data.jsonl": [IFEVAL]}, {f"data/{TRAIN}": [IFEVAL]}],
    "ifbench": [{"IFBench_test.jsonl": [IFBENCH]}],
    "bfcl": [
        {
            "BFCL_v4_simple_python.json": [_bfcl("simple_python_0"), _bfcl("simple_python_1")],
            "BFCL_v4_irrelevance.json": [_bfcl("irrelevance_0"), _bfcl("irrelevance_1")],
            "BFCL_v4_multi_turn_base.json": [_bfcl("multi_turn_base_0")],
            "BFCL_v4_parallel.json": [_bfcl("parallel_0"), _bfcl("parallel_1")],
            "possible_answer/BFCL_v4_simple_python.json": [
                {"id": f"simple_python_{n}", "ground_truth": [{"double": {"n": [4]}}]} for n in (0, 1)
            ],
            "possible_answer/BFCL_v4_parallel.json": [
                {
                    "id": f"parallel_{n}",
                    "ground_truth": [{"double": {"n": [4]}}, {"double": {"n": [5], "unit": ["", "m"]}}],
                }
                for n in (0, 1)
            ],
        }
    ],
    "full_hh_rlhf": [{f"data/{TRAIN}": [_PAIR], f"data/{TEST}": [_PAIR]}],
    "hh-rlhf": [
        {
            "helpful-base/train.jsonl.gz": [_DIALOGUE],
            "harmless-base/train.jsonl.gz": [_DIALOGUE],
            "helpful-base/test.jsonl.gz": [_DIALOGUE],
            "red-team-attempts/red_team_attempts.jsonl.gz": [{"transcript": "x"}],
        }
    ],
}
