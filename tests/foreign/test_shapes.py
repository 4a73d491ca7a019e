"""A reward function of any project's shape gives what its project would get of it, unmodified."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.foreign import load_reward
from rewardkit.registry import REGISTRY, Registry, load_reward_file
from rewardkit.types import Score

FILE = '''
import asyncio, dataclasses, functools, math, typing

def verl(data_source, solution_str, ground_truth, extra_info=None, bonus=0.0):
    return {"score": float(solution_str == ground_truth) + bonus, "acc": True, "pred": solution_str, "n": 3, "why": "so"}
def verl_kwargs(**kwargs): return len(kwargs["solution_str"]) + len(kwargs["extra_info"])
async def verl_async(data_source, solution_str, ground_truth, extra_info):
    await asyncio.sleep(0); return solution_str == ground_truth
def verl_batch(data_sources, solution_strs, ground_truths, extra_infos):
    return [float(a == b) / len(solution_strs) for a, b in zip(solution_strs, ground_truths)]
def verl_tuple(solution_str, ground_truth): return 0.5, solution_str == ground_truth, "right"
def structured(solution_str, ground_truth): return ground_truth["target"][0] == solution_str
def geo(predict_str: str, ground_truth: str) -> float: return predict_str == ground_truth
def label(response, label): return response == label
def trl(completions, solution, **kwargs):
    return [None if not c[0]["content"] else float(c[0]["content"] == s) for c, s in zip(completions, solution)]
async def trl_async(completions, level, **kwargs): return [x / 2 for x in level]
def trl_text(completions: list[str], **kwargs): return [len(c) for c in completions]
def overlong(completion_ids: list, **kwargs): return [float(len(ids)) for ids in completion_ids]
def trl_logs(completions, log_extra, log_metric, trainer_state, **kwargs):
    log_extra("words", ["some"]); log_metric("level", 2); return [trainer_state.global_step + 1]
def trl_columns(completions, ground_truth, level, data_source): return [float(level[0])]
def get_trl(size: int, most: float = 1.0):
    def sized(completions, **kwargs): return [min(most, len(c[0]["content"]) / size) for c in completions]
    return sized
def get_partial(size): return functools.partial(trl_sized, size=size)
def trl_sized(completions, size, **kwargs): return [size for c in completions]
def reward_func(queries, prompts, labels, **kwargs):
    return {"rewards": [float(q == p + l) for q, p, l in zip(queries, prompts, labels)], "scores": [0.25], "extra_logs": {"length": [4]}}
def openrlhf_old(queries, prompts): return [float(q.startswith(p)) for q, p in zip(queries, prompts)]
async def slime(args, sample, **kwargs):
    return {"score": float(sample.response == sample.label) * args.scale, "level": sample.metadata["level"]}
def areal(prompt, completions, prompt_ids, completion_ids, answer, **kwargs): return float(completions == answer)
def easy(reward_input): return {"overall": float(reward_input["response"] == reward_input["ground_truth"]), "format": 1.0}
def easy_batch(reward_inputs, weight=1.0): return [{"overall": weight, "accuracy": 0.0} for one in reward_inputs]
@dataclasses.dataclass
class RewardOutput:
    reward: float
    metadata: dict
    is_correct: bool
class Rllm:
    def __init__(self, worth=1.0): self.worth = worth
    def __call__(self, task_info, action): return RewardOutput(self.worth, {"kind": "math"}, task_info["ground_truth"] == action)
class VerificationResult(typing.NamedTuple):
    score: float
    cost: float
class OpenInstruct:
    def __init__(self, verifier_config=None): pass
    def __call__(self, tokenized_prediction, prediction, label, query=None, rollout_state=None):
        return VerificationResult(float(prediction == label), 0.5)
class Forge:
    def __call__(self, prompt: str, response: str, target: str = None) -> float: return float(response == target)
class ORM:
    def __init__(self, args=None, **kwargs): self.args = args
class Swift(ORM):
    def __init__(self, args): self.worth = args.worth
    def __call__(self, completions, solution, **kwargs): return [float(c == s) * self.worth for c, s in zip(completions, solution)]
def nemo(ground_truth: str, response: str, tag: str = "answer"): return 0.75, None
def own(sample): return sample.response == sample.ground_truth
def noted(response, ground_truth): return {"formatted": True}, float(ground_truth in response)
def mutates(solution_str, ground_truth, extra_info): extra_info["level"] += 1; return extra_info["level"]
'''  # fmt: skip

RIGHT = Sample("set", "72", "72", "so?", {"level": 2})
CHAT = Sample("set", "72", "72", [{"role": "user", "content": "so?"}], {"level": 2})
LISTED = Sample("set", "72", '{"target": ["72"]}', None)

CASES: list[tuple[str, Sample, Score]] = [
    ("verl?bonus=0.5", RIGHT, Score(1.5, correct=True, extracted="72", parts={"n": 3.0}, detail="why='so'")),
    ("verl:kwargs", RIGHT, Score(3.0)),
    ("verl_async", RIGHT, Score(1.0, correct=True)),
    ("verl_batch", RIGHT, Score(1.0)),
    ("verl_tuple", RIGHT, Score(0.5, correct=True, detail="rest=['right']")),
    ("structured", LISTED, Score(1.0, correct=True)),
    ("geo", RIGHT, Score(1.0, correct=True)),
    ("label", RIGHT, Score(1.0, correct=True)),
    ("trl", CHAT, Score(1.0)),
    ("trl", Sample("set", "", "72"), Score(0.0, "invalid", detail="not scored: the reward returned None")),
    ("trl_async", CHAT, Score(1.0)),
    ("trl_text", CHAT, Score(2.0)),
    ("overlong", Sample("set", "72", "72", None, {"completion_ids": [1, 2, 3]}), Score(3.0)),
    ("trl_logs", CHAT, Score(1.0, parts={"level": 2.0}, detail="words='some'")),
    ("trl_columns", CHAT, Score(2.0)),
    ("get_trl?size=4", CHAT, Score(0.5)),
    ("get_partial?size=4", CHAT, Score(4.0)),
    ("reward_func", RIGHT, Score(1.0, parts={"scores": 0.25, "length": 4.0})),
    ("openrlhf_old", RIGHT, Score(1.0)),
    ("slime?scale=2", RIGHT, Score(2.0, parts={"level": 2.0})),
    (
        "slime",
        RIGHT,
        Score(
            0.0,
            "invalid",
            detail="the reward reads slime's args.scale, which is not set; append ?scale=VALUE to the spec, or "
            "set 'scale' under `options:`",
        ),
    ),
    ("areal", RIGHT, Score(1.0)),
    ("easy", RIGHT, Score(1.0, parts={"format": 1.0})),
    ("easy_batch?weight=3", RIGHT, Score(3.0, parts={"accuracy": 0.0})),
    ("Rllm?worth=2", RIGHT, Score(2.0, correct=True, detail="metadata={'kind': 'math'}")),
    ("OpenInstruct", RIGHT, Score(1.0, parts={"cost": 0.5})),
    ("Forge", RIGHT, Score(1.0)),
    ("Swift?worth=2", CHAT, Score(2.0)),
    ("nemo", RIGHT, Score(0.75)),
    ("own", RIGHT, Score(1.0, correct=True)),
    ("mutates", RIGHT, Score(3.0)),
    ("noted", RIGHT, Score(1.0, detail="rest=[{'formatted': True}]")),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("theirs") / "rewards.py"
    path.write_text(FILE)
    return path


def test_each_shape_gives_what_its_project_would_get(file: Path, registry: Registry) -> None:
    wrong = {}
    sources = [f"test{i}/{name.partition('?')[0]}" for i, (name, _, _) in enumerate(CASES)]
    for source, (name, _, _) in zip(sources, CASES, strict=True):
        spec = f"verl:{file}:verl_kwargs" if name == "verl:kwargs" else f"{file}:{name}"
        load_reward(f"{source}={spec}")
    samples = [Sample(source, *_rest(case[1])) for source, case in zip(sources, CASES, strict=True)]
    with Scorer(workers=1) as scorer:
        once, twice = (scorer.score_batch(samples) for _ in range(2))
    for (name, _, expected), found, again in zip(CASES, once, twice, strict=True):
        shown = {"status": found.status, "score": found.score, "correct": found.correct, "parts": found.parts}
        shown |= {"extracted": found.extracted, "detail": found.detail}
        if shown != {key: getattr(expected, key) for key in shown} or found.score != again.score:
            wrong[name] = (shown, expected)
    assert wrong == {}


def _rest(sample: Sample) -> tuple[Any, ...]:
    return sample.response, sample.ground_truth, sample.prompt, sample.extra_info


def test_a_function_for_trl_gets_the_completions_that_it_reads_if_there_is_no_prompt(
    tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "theirs.py").write_text(
        "def text(completions, ground_truth, **kwargs):\n"
        "    return [float(c == g) for c, g in zip(completions, ground_truth)]\n"
        "def messages(completions, ground_truth, **kwargs):\n"
        "    return [float(c[0]['content'] == g) for c, g in zip(completions, ground_truth)]\n"
        "def first(c): return c[0]['content']\n"
        "def helped(completions, ground_truth, **kwargs):\n"
        "    return [float(first(c) == g) for c, g in zip(completions, ground_truth)]\n"
    )
    load_reward(f"test/helped=trl:{tmp_path}/theirs.py:helped")
    load_reward(f"test/text=trl:{tmp_path}/theirs.py:text")
    load_reward(f"test/messages=trl:{tmp_path}/theirs.py:messages")
    chat = [{"role": "user", "content": "2 * 36?"}]
    samples = [
        Sample("test/text", "72", "72"),
        Sample("test/text", "72", "72", "2 * 36?"),
        Sample("test/messages", "72", "72", chat),
        Sample("test/messages", "72", "72"),
        Sample("test/helped", "72", "72"),
    ]
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch(samples)
    assert [(one.status, one.score) for one in scores] == [("ok", 1.0)] * 5


@pytest.mark.parametrize("target", ["torl/utils/score.py:compute_score", "torl.utils.score:compute_score"])
def test_a_module_is_loaded_though_its_package_cannot_be_imported(
    tmp_path: Path, registry: Registry, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "torl" / "utils"
    folder.mkdir(parents=True)
    (tmp_path / "torl" / "__init__.py").write_text("import nonesuch_trainer\n")
    (folder / "__init__.py").write_text("from torl.nonesuch import worker\n")
    (folder / "equal.py").write_text("def equal(one, other): return one == other\n")
    (folder / "score.py").write_text(
        "from .equal import equal\n"
        "def compute_score(solution_str, ground_truth): return float(equal(solution_str, ground_truth))\n"
    )
    monkeypatch.chdir(tmp_path)
    load_reward(f"test/torl={target}")
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch([Sample("test/torl", one, "72") for one in ("72", "7")])
    assert [(one.status, one.score) for one in scores] == [("ok", 1.0), ("ok", 0.0)]


def test_a_module_that_needs_what_its_broken_package_defines_is_refused(
    tmp_path: Path, registry: Registry
) -> None:
    package = tmp_path / "torl"
    package.mkdir()
    (package / "__init__.py").write_text("import nonesuch_trainer\nSCALE = 2\n")
    (package / "score.py").write_text(
        "from . import SCALE\ndef compute_score(solution_str, ground_truth): return SCALE\n"
    )
    with pytest.raises(InputError, match="nonesuch_trainer"):
        load_reward(f"test/torl={package}/score.py:compute_score")


@pytest.mark.parametrize("name", ["accuracy_only", "empty"])
def test_a_dict_without_a_score_is_an_error_that_names_its_keys(
    tmp_path: Path, registry: Registry, name: str
) -> None:
    (tmp_path / "theirs.py").write_text(
        "def accuracy_only(solution_str, ground_truth): return {'success': True, 'format_ok': 1.0}\n"
        "def empty(solution_str, ground_truth): return {}\n"
    )
    load_reward(f"test/dict={tmp_path}/theirs.py:{name}")
    with Scorer(workers=1) as scorer:
        found = scorer.score(Sample("test/dict", "72", "72"))
    assert found.status == "error" and "without a score" in (found.detail or "")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("def f(completion, test_cases): return 1\n", ":f", "takes the response.*columns"),
        ("def f(**kwargs): return 1\n", ":f", "takes the response"),
        ("def verl(solution_str): return 1\n", ":verk", "'verk'; did you mean verl"),
        ("def a(solution_str): ...\ndef b(completions): ...\n", "", "a, b"),
        ("import nonesuch\n", ":f", "failed to import: ModuleNotFoundError"),
        ("raise SystemExit\n", ":f", "failed to import: SystemExit"),
        ("import os; os._exit(3)\n", ":f", "exited with status 3"),
        ("def f(:\n", ":f", "failed to import: SyntaxError"),
        ("def get_f(n): return 1\n", ":get_f?n=1", "takes the response"),
    ],
)
def test_what_cannot_be_called_is_refused_at_the_door(
    tmp_path: Path, content: str, name: str, said: str
) -> None:
    (tmp_path / "theirs.py").write_text(content)
    with pytest.raises(InputError, match=said) as refused:
        load_reward(f"x={tmp_path}/theirs.py{name}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "package"),
    [
        ("verl:openai/gsm8k", "verl"),
        ("verifiers:reverse-text", "verifiers"),
        ("skyrl-gym:gsm8k", "skyrl-gym"),
        ("lm-eval:gsm8k", "lm-eval"),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, registry: Registry, spec: str, package: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if importlib.util.find_spec(package.replace("-", "_")) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(InputError) as refused:
        load_reward(f"x={spec}")
    message = str(refused.value)
    assert message == (
        f"{spec} needs the package {package}: pip install {package} for {sys.executable}, or set `python:` to an "
        "interpreter that has the package"
    )


def test_a_package_that_a_function_lacks_is_named_with_what_helps(tmp_path: Path, registry: Registry) -> None:
    helps = "No module named 'nonesuch'; install the module for .*, or set `python:` to an interpreter"
    (tmp_path / "theirs.py").write_text("import nonesuch\ndef f(solution_str): return 1\n")
    with pytest.raises(InputError, match=helps):
        load_reward(f"x={tmp_path}/theirs.py:f")
    (tmp_path / "late.py").write_text("def f(solution_str):\n    import nonesuch\n")
    load_reward(f"x={tmp_path}/late.py:f")
    with Scorer(workers=1) as scorer:
        found = scorer.score(Sample("x", "", ""))
    assert found.status == "error"
    assert re.search(helps, found.detail or "")


@pytest.mark.parametrize("name", ["my.reward.v2", "my-reward", "2nd reward", "für"])
def test_a_file_may_have_any_name(tmp_path: Path, registry: Registry, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("import rewardkit\ndef f(solution_str):\n    return 0.5\n")
    load_reward(f"x={tmp_path}/{name}.py:f")
    (tmp_path / f"own {name}.py").write_text(
        "import rewardkit\n@rewardkit.reward('mine')\ndef own(sample):\n    return 0.25\n"
    )
    load_reward_file(f"{tmp_path}/own {name}.py")
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("x", "", "")).score == 0.5
        assert scorer.score(Sample("mine", "", "")).score == 0.25


@pytest.mark.parametrize("marked", [True, False])
def test_a_file_of_a_package_is_the_one_there_though_its_package_is_installed_too(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, marked: bool
) -> None:
    for place, worth in (("installed", 1.0), ("here", 2.0)):
        package = tmp_path / place / "theirs" / "scores"
        package.mkdir(parents=True)
        if marked or place == "installed":
            (package / "__init__.py").touch()
            (package.parent / "__init__.py").touch()
        (package / "helper.py").write_text(f"WORTH = {worth}\n")
        (package / "late.py").write_text(f"MORE = {worth}\n")
        (package / "mine.py").write_text(
            "from .helper import WORTH\ndef f(solution_str):\n"
            "    from .late import MORE\n    return WORTH + MORE\n"
        )
    folder = "installed" if marked else "installed/theirs"  # without marks the package is the last folder
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / folder))
    load_reward(f"x={tmp_path}/here/theirs/scores/mine.py:f")
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("x", "", "")).score == 4.0


RUBRICS = """
class Rubric:
    def __init__(self, funcs=(), weights=(), parser=None):
        self.funcs, self.weights, self.parser = funcs, weights, parser
class Group(Rubric):
    def __init__(self, *rubrics):
        super().__init__()
        self.rubrics = rubrics
def right(completion, answer, parser): return float(parser(completion[-1]["content"]) == answer)
async def short(completion, state): return 1.0 / len(state["completion"][0]["content"])
one = Rubric([right], [2.0], lambda text: text[-2:])
group = Group(one, Group(Rubric([short], [0.5])), Rubric([right], [0.0], str))
empty = Group(Rubric())
class Environment:
    rubric = group
def load_environment(): return Environment()
"""


def test_a_rubric_or_a_group_of_them_is_the_weighted_sum_of_its_functions(
    tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "theirs.py").write_text(RUBRICS)
    with Scorer(workers=1) as scorer:
        for name, expected in (("one", 2.0), ("group", 2.125), ("load_environment", 2.125)):
            load_reward(f"{name}=verifiers:{tmp_path}/theirs.py:{name}")
            found = scorer.score(Sample(name, "is72", "72"))
            assert (found.status, found.score) == ("ok", expected)
    with pytest.raises(InputError, match="rubric with reward functions"):
        load_reward(f"x=verifiers:{tmp_path}/theirs.py:empty")


def test_the_version_changes_with_source_neighbours_and_options_alone(
    tmp_path: Path, registry: Registry
) -> None:
    def version(folder: str, *, neighbour: str = "1", options: str = "") -> str:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper.py").write_text(f"WORTH = {neighbour}\n")
        (tmp_path / folder / "mine.py").write_text(
            "from helper import WORTH\ndef f(solution_str, n=0): return WORTH\n"
        )
        return load_reward(f"x={tmp_path}/{folder}/mine.py:f{options}")[0].scorer

    first, elsewhere = version("a"), version("b")
    assert first == elsewhere
    assert len({first, version("c", neighbour="2"), version("d", options="?n=1")}) == 3


def test_what_was_read_is_what_runs_whatever_becomes_of_the_files(tmp_path: Path, registry: Registry) -> None:
    package = tmp_path / "theirs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("WORTH = 1.0\n")
    (package / "rewards.py").write_text("from .helper import WORTH\ndef f(solution_str): return WORTH\n")
    load_reward(f"x={package}/rewards.py:f")
    (package / "helper.py").write_text("WORTH = 2.0\n")
    (package / "rewards.py").unlink()
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("x", "", "")).score == 1.0


def test_two_functions_of_one_name_score_each_its_own_data_source(tmp_path: Path, registry: Registry) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(f"def compute_score(solution_str): return {ord(name)}\n")
        load_reward(f"{name}={tmp_path}/{name}.py:compute_score")
    with Scorer(workers=1) as scorer:
        assert [scorer.score(Sample(name, "", "")).score for name in ("a", "b")] == [97.0, 98.0]


def test_a_function_of_lists_can_get_all_responses_to_a_prompt_at_once(
    tmp_path: Path, registry: Registry
) -> None:
    from rewardkit.composition import load_compositions

    (tmp_path / "theirs.py").write_text(
        "def rank(completions, **k): return [len(completions) for _ in completions]\n"
    )
    (tmp_path / "r.yaml").write_text(
        f"r: {{import: '{tmp_path}/theirs.py:rank', batch: group, data_sources: x}}\n"
    )
    load_compositions(tmp_path / "r.yaml")
    with Scorer(workers=1) as scorer:
        found = scorer.score_batch([Sample("x", "a", "", prompt) for prompt in ("p", "p", "q")])
    assert [one.score for one in found] == [2.0, 2.0, 1.0]
    assert REGISTRY.resolve("x").running.by_group
