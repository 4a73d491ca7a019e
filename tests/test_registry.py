"""Registering and finding rewards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import rewardkit.rewards  # noqa: F401
from rewardkit import Sample, Score, Scorer, reward
from rewardkit.errors import InputError, OptionsError, UnknownDataSourceError
from rewardkit.registry import REGISTRY, Registry, Reward, load_reward_file
from tests.installed import install


def _named(name: str, *sources: str, aliases: tuple[str, ...] = ()) -> Reward:
    return Reward(name, 1, lambda sample: 1.0, sources, aliases=aliases)


def test_an_alias_finds_the_same_reward_as_the_full_name() -> None:
    assert REGISTRY.resolve("gsm8k") is REGISTRY.resolve("openai/gsm8k")


def test_exact_names_win_over_globs_and_long_globs_over_short_ones() -> None:
    registry = Registry()
    for made in (_named("all", "*"), _named("aime", "aime*"), _named("aime24", "aime2024")):
        registry.register(made)
    assert registry.resolve("aime2024").name == "aime24"
    assert registry.resolve("aime2025").name == "aime"
    assert registry.resolve("whatever").name == "all"


@pytest.mark.parametrize(("asked", "meant"), [("gms8k", "gsm8k"), ("openai/gsm-8k", "openai/gsm8k")])
def test_an_unknown_data_source_names_the_nearest_known_one(asked: str, meant: str) -> None:
    with pytest.raises(UnknownDataSourceError, match=f"did you mean.*{meant}"):
        REGISTRY.resolve(asked)


def test_two_rewards_cannot_hold_the_same_data_source_by_accident() -> None:
    registry = Registry()
    registry.register(_named("one", "a/b"))
    with pytest.raises(OptionsError, match="reward 'one'"):
        registry.register(_named("two", "a/b"))
    registry.register(_named("two", "a/b"), replace_existing=True)
    assert registry.resolve("a/b").name == "two"


def test_options_that_do_not_exist_or_do_not_fit_are_refused_with_a_hint() -> None:
    gsm8k = REGISTRY.resolve("gsm8k")
    with pytest.raises(OptionsError, match="'metod'; did you mean method"):
        gsm8k.make_options({"metod": "strict"})
    with pytest.raises(OptionsError, match=r"'method' .*'gsm8k' .*'lax'; expected 'strict', 'flexible'"):
        gsm8k.make_options({"method": "lax"})


@pytest.mark.parametrize(
    ("source", "option", "value", "expected"),
    [
        ("code", "fence", "middle", "'last', 'first', 'longest', 'joined', 'whole'"),
        ("gsm8k", "window", "wide", "an integer or none"),
        ("math", "methods", '["nowhere"]', "a list of 'tags', 'boxed', "),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_those_that_do(
    source: str, option: str, value: str, expected: str
) -> None:
    with pytest.raises(OptionsError, match=f"'{option}' .*'{source}' .*; expected {expected}"):
        REGISTRY.resolve(source).make_options({option: value})


def test_a_name_of_digits_is_a_text_whoever_wrote_it() -> None:
    @dataclass(frozen=True)
    class Asking:
        model: str = ""
        other: str | None = None

    asking = replace(_named("asking", "a/b"), options_type=Asking)
    assert asking.make_options({"model": 500, "other": 7}) == Asking("500", "7")
    with pytest.raises(OptionsError, match=r"'model' .*'asking' .* 4\.1; expected"):
        asking.make_options({"model": 4.10})


def test_options_from_a_command_line_are_strings_and_become_what_they_should_be(tmp_path: Path) -> None:
    options = REGISTRY.resolve("gsm8k").make_options({"score": "2.5", "window": "300"})
    assert (options.score, options.window) == (2.5, 300)
    checkers = tmp_path / "lines.py"
    checkers.touch()
    listed = REGISTRY.resolve("instructions").make_options({"checkers": json.dumps([str(checkers)])})
    assert listed.checkers == (str(checkers),)
    with pytest.raises(OptionsError, match=r"is 'lines\.py'; expected a list$"):
        REGISTRY.resolve("instructions").make_options({"checkers": "lines.py"})


def test_a_decorated_function_is_a_reward(registry: Registry) -> None:
    @dataclass(frozen=True)
    class Options:
        bonus: float = 0.0

    @reward("test/decorated", aliases=["deco"], version=3, runs="inline", options=Options)
    def decorated(sample: Sample, options: Options) -> float:
        """Half for anything."""
        return 0.5 + options.bonus

    found = registry.resolve("deco")
    assert (found.scorer, found.summary) == ("decorated@3", "Half for anything.")
    with Scorer(options={"test/decorated": {"bonus": 0.25}}) as scorer:
        assert scorer.score(Sample("deco", "", "")).score == 0.75


def test_a_score_bears_the_version_that_the_registry_has(registry: Registry) -> None:
    registry.register(replace(registry.resolve("gsm8k"), version=7), replace_existing=True)
    here = [Sample("gsm8k", "#### 1", "1"), Sample("gsm8k", "#### 1", "no number")]
    in_a_worker = [Sample("gsm8k", "so " * 5_000 + "#### 1", "1")]
    with Scorer(workers=1) as scorer:
        assert [score.scorer for score in scorer.score_batch(here + in_a_worker)] == ["gsm8k@7"] * 3


def test_a_reward_cannot_bear_another_name_than_its_own(registry: Registry) -> None:
    @reward("test/imposter", runs="inline")
    def imposter(sample: Sample) -> Score:
        return Score(1.0, scorer="gsm8k@1")

    with Scorer() as scorer:
        assert scorer.score(Sample("test/imposter", "", "")).scorer == "imposter@1"


def test_a_declaration_is_called_with_the_first_sample_and_not_before(registry: Registry) -> None:
    @dataclass(frozen=True)
    class Options:
        worth: float = 1.0

    def length(sample: Sample, options: Options) -> float:
        return len(sample.response) * options.worth

    length.__annotations__["options"] = Options  # a local class, which its name alone would not find
    called: list[bool] = []

    @reward("test/declared", version=2, runs="inline")
    def declared() -> Callable[[Sample, Options], float]:
        """The length."""
        called.append(True)
        return length

    found = registry.resolve("test/declared")
    assert (found.scorer, found.summary, called) == ("declared@2", "The length.", [])
    with Scorer(options={"test/declared": {"worth": 0.5}}) as scorer:
        scores = [scorer.score(Sample("test/declared", "four", "")) for _ in range(3)]
    assert [(s.score, s.scorer) for s in scores] == [(2.0, "declared@2")] * 3
    assert called == [True]


def test_a_declaration_in_a_reward_file_runs_in_a_worker(tmp_path: Path, registry: Registry) -> None:
    file = tmp_path / "declared.py"
    file.write_text(
        "from rewardkit import reward\n"
        "def score(sample): return len(sample.response)\n"
        "@reward('test/declared-in-file')\n"
        "def declared(): return score\n"
    )
    load_reward_file(str(file))
    with Scorer(workers=1) as scorer:
        found = scorer.score(Sample("test/declared-in-file", "four", ""))
    assert (found.score, found.scorer) == (4.0, "declared@1")


def test_a_worker_that_starts_late_runs_what_was_loaded_and_not_what_the_file_says_now(
    tmp_path: Path, registry: Registry
) -> None:
    file = tmp_path / "mine.py"
    text = "from rewardkit import reward\n@reward('test/late')\ndef late(sample): return 1.0\n"
    file.write_text(text)
    load_reward_file(str(file))
    for now in (text.replace("1.0", "2.0"), None):
        if now is None:
            file.unlink()
        else:
            file.write_text(now)
        with Scorer(workers=1) as scorer:
            assert scorer.score(Sample("test/late", "", "")).score == 1.0


def test_a_function_with_verls_signature_takes_every_data_source(tmp_path: Path, registry: Registry) -> None:
    file = tmp_path / "verl_like.py"
    file.write_text(
        "helper = len\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return {'score': helper(solution_str), 'acc': solution_str == ground_truth, 'pred': extra_info['x']}\n"
    )
    load_reward_file(f"{file}:compute_score")
    with Scorer() as scorer:
        for source in ("any/thing", "openai/gsm8k"):
            score = scorer.score(Sample(source, "abc", "abc", extra_info={"x": "seen"}))
            assert (score.score, score.correct, score.extracted) == (3.0, True, "seen")


def test_a_function_can_be_given_to_one_data_source(tmp_path: Path, registry: Registry) -> None:
    file = tmp_path / "one.py"
    file.write_text("def f(sample): return True\n")
    load_reward_file(f"only/this={file}:f")
    assert registry.resolve("only/this").name == "f"
    with pytest.raises(UnknownDataSourceError):
        registry.resolve("only/that")


@pytest.mark.parametrize(
    ("content", "spec", "message"),
    [
        (None, "{}", "no such file"),
        ("x = 1\n", "{}", "no function decorated"),
        ("def compute(): ...\n", "{}:compote", "'compote'; did you mean compute"),
        ("1 / 0\n", "{}", "failed to import: ZeroDivisionError"),
    ],
)
def test_a_bad_reward_file_is_one_clear_line(
    tmp_path: Path, content: str | None, spec: str, message: str
) -> None:
    file = tmp_path / "bad.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError, match=message):
        load_reward_file(spec.format(file))


def test_an_installed_package_adds_a_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import rewardkit\n\n@rewardkit.reward('plugged/in')\ndef mine(response):\n    return 1.0\n"
    install(
        tmp_path, monkeypatch, {"rewards": {"mine": "plugged_reward"}}, name="plugged_reward", source=source
    )
    registry = Registry()
    assert registry.resolve("plugged/in").name == "mine"
    assert registry.packages == {"mine": "plugged_reward 1.0"}
