"""`rewardkit check`: one row of each kind of fault is found, named and numbered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.registry import REGISTRY

Row = dict[str, Any]
Check = Callable[..., dict[str, Any]]


def row(number: int = 0, **changes: Any) -> Row:
    """A row in our form without fault, each number with another question."""
    asked = f"How many legs have {number + 2} cats?"
    truth = str(4 * (number + 2))
    made = {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": f"{asked} Give the answer after ####."}],
        "ability": "math",
        "ground_truth": truth,
        "reward_model": {"style": "rule", "ground_truth": truth},
        "agent_name": "single_turn_agent",
        "extra_info": {"split": "train", "index": number, "question": asked, "answer": f"#### {truth}"},
    }
    return {**made, **changes}


def with_truth(number: int, truth: Any, data_source: str = "openai/gsm8k") -> Row:
    changed = {"style": "rule", "ground_truth": truth}
    return row(number, ground_truth=truth, reward_model=changed, data_source=data_source)


def write(path: Path, rows: list[Row]) -> str:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(path)


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Check rows and return what --json prints, with the exit code."""

    def run_check(rows: list[Row], *words: str) -> dict[str, Any]:
        code = run(["check", write(tmp_path / "train.jsonl", rows), *words, "--json"])
        captured = capsys.readouterr()
        assert code in (0, 1), captured.err
        return {**json.loads(captured.out), "code": code}

    return run_check


def only(result: dict[str, Any], level: str, name: str) -> dict[str, Any]:
    (finding,) = result["findings"]
    assert (finding["level"], finding["check"]) == (level, name), finding
    assert result["code"] == (1 if level == "error" else 0)
    return finding


def test_rows_without_fault_exit_with_zero(check: Check) -> None:
    result = check([row(i) for i in range(40)])
    assert (result["code"], result["findings"]) == (0, [])
    assert result["files"][0]["form"] == "rewardkit"


@pytest.mark.parametrize(
    ("fault", "name", "what"),
    [
        ({"data_source": "openai/gsm8"}, "data source", "did you mean openai/gsm8k?"),
        ({"prompt": []}, "prompt", "empty"),
        ({"prompt": "How many?"}, "prompt", "expected chat messages"),
        ({"prompt": [{"role": "human", "content": "q"}]}, "prompt", "role 'human'"),
        ({"agent_name": "raect_agent"}, "agent", "there is no agent 'raect_agent'"),
        ({"ground_truth": "9"}, "ground truth", "reward_model.ground_truth is '12'"),
    ],
)
def test_a_row_that_cannot_be_used_is_an_error_with_its_number(
    fault: Row, name: str, what: str, check: Check
) -> None:
    finding = only(check([row(0), row(1, **fault), row(2)]), "error", name)
    assert finding["rows"] == [1]
    assert what in finding["what"]


def test_what_a_model_is_to_score_lacks_a_reward_and_is_a_warning(check: Check) -> None:
    style = {"style": "model", "ground_truth": "8"}
    finding = only(check([row(0, data_source="my/dialogues", reward_model=style)]), "warning", "data source")
    assert "--reward-model" in finding["what"]


@pytest.mark.parametrize(
    ("data_source", "truth", "what"),
    [
        ("openai/gsm8k", "seven", "'seven' is not a number"),
        ("math", None, "empty"),
        ("cais/mmlu", "maybe", "one of the options"),
    ],
)
def test_a_ground_truth_that_its_reward_cannot_use_is_an_error(
    data_source: str, truth: Any, what: str, check: Check
) -> None:
    finding = only(check([row(0), with_truth(1, truth, data_source)]), "error", "ground truth")
    assert finding["rows"] == [1]
    assert what in finding["what"]


@pytest.mark.parametrize(
    ("truth", "what"),
    [
        ("notfound", "a placeholder"),
        ("I am sorry, but this problem cannot be solved", "a sentence"),
        ("3 3)", "cannot be parsed"),
    ],
)
def test_what_is_hardly_an_answer_in_maths_is_a_warning(truth: str, what: str, check: Check) -> None:
    finding = only(check([with_truth(0, truth, "math")]), "warning", "ground truth")
    assert what in finding["what"]


@pytest.mark.slow
@pytest.mark.parametrize("truth", [r"\text{even}", r"(-\infty, 3]", "12 apples"])
def test_words_that_are_answers_are_none(truth: str, check: Check) -> None:
    assert check([with_truth(0, truth, "math")])["findings"] == []


def test_tools_and_interactions_have_to_be_there(check: Check, tmp_path: Path) -> None:
    extra = {
        **row()["extra_info"],
        "tools_kwargs": {"abacus": {}},
        "interaction_kwargs": {"name": "quiz"},
    }
    rows = [row(0, extra_info=extra, agent_name="my_agent")]
    found = {f["check"]: f["what"] for f in check(rows)["findings"]}
    assert found.keys() == {"agent", "tools", "interaction"}
    assert "tools_kwargs['abacus'] is ignored" in found["tools"]
    tools = tmp_path / "tools.yaml"
    tools.write_text("tools: [{class_name: a.B, tool_schema: {function: {name: abacus}}}]")
    quiz = tmp_path / "quiz.yaml"
    quiz.write_text("interaction: [{name: quiz, class_name: a.B}]")
    words = ("--tools", str(tools), "--interactions", str(quiz), "--agent", "my_agent")
    assert check(rows, *words)["findings"] == []


def test_what_ships_is_known(check: Check, tmp_path: Path) -> None:
    others = {"create_kwargs": {"ground_truth": "", "question": None}}
    tools = {"search": {}, "calculator": {}, "of_other_rows": others}
    extra = {**row()["extra_info"], "tools_kwargs": tools, "interaction_kwargs": {"name": "gsm8k"}}
    assert check([row(0, extra_info=extra, agent_name="tool_agent")])["findings"] == []
    assert (
        "did you mean tool_agent" in only(check([row(0, agent_name="toolagent")]), "error", "agent")["what"]
    )
    mine = tmp_path / "mine.py"
    mine.write_text("async def loop(episode): ...")
    assert check([row(0, agent_name=f"{mine}:loop")])["findings"] == []
    finding = only(check([row(0, agent_name=f"{mine}:lop")]), "error", "agent")
    assert "did you mean loop" in finding["what"]


def test_tools_of_rows_without_an_agent_are_called_where_they_are_given(check: Check, tmp_path: Path) -> None:
    tools = tmp_path / "tools.yaml"
    tools.write_text("tools: [{tool_schema: {function: {name: calculator}}}]")
    extra = {**row()["extra_info"], "tools_kwargs": {"calculator": {}}}
    only(check([row(0, extra_info=extra)]), "warning", "agent")
    assert check([row(0, extra_info=extra)], "--tools", str(tools))["findings"] == []


def test_tools_that_another_set_has_filled_with_null_are_an_error(check: Check, tmp_path: Path) -> None:
    extra = {**row()["extra_info"], "tools_kwargs": {"calculator": None}}
    found = [f for f in check([row(0, extra_info=extra)])["findings"] if f["check"] == "tools"]
    assert "is null" in found[0]["what"]


def test_a_repeated_question_is_found_whatever_its_case_and_punctuation(check: Check) -> None:
    again = row(
        0, prompt=[{"role": "user", "content": "how many legs  have 2 Cats Give the answer after ####."}]
    )
    finding = only(check([*(row(i) for i in range(40)), again]), "warning", "duplicate")
    assert finding["rows"] == [40]
    assert finding["what"].endswith("row 0")


def test_a_repeated_question_with_another_ground_truth_is_told_apart(check: Check) -> None:
    finding = only(
        check([row(0), {**with_truth(1, "9"), "prompt": row(0)["prompt"]}]), "warning", "contradiction"
    )
    assert finding["rows"] == [1]


def test_numbers_and_operators_make_another_question(check: Check) -> None:
    asked = ["What is 3 + 4?", "What is 3 - 4?", "What is 3.4?", "What is 34?", "What is 3/4?"]
    rows = [row(i, prompt=[{"role": "user", "content": q}]) for i, q in enumerate(asked)]
    assert check(rows)["findings"] == []


def test_the_same_words_about_another_image_are_another_question(check: Check) -> None:
    rows = [{**row(0), "images": ["a.png"]}, {**row(0), "images": ["b.png"]}, {**row(0), "images": ["b.png"]}]
    found = check(rows)["findings"]
    assert [one["rows"] for one in found if one["check"] == "duplicate"] == [[2]]
    (untrained,) = (one for one in found if one["check"] == "training")
    assert "vision-language" in untrained["what"]


def test_a_question_of_one_split_in_another_is_leakage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = write(tmp_path / "train.jsonl", [row(i) for i in range(3)])
    test_info = {**row(2)["extra_info"], "split": "test"}
    test = write(tmp_path / "test.jsonl", [row(9, extra_info=test_info), row(2, extra_info=test_info)])
    assert run(["check", train, test, "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["check"], finding["file"], finding["rows"]) == ("leakage", test, [1])
    assert "train.jsonl, row 2" in finding["what"]


def test_most_of_a_question_of_another_split_in_train_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def asks(question: str, split: str) -> Row:
        return row(0, prompt=[{"role": "user", "content": question}], extra_info={"split": split})

    near = LONG.replace("of her friends", "of all her friends")
    train = write(tmp_path / "train.jsonl", [asks("What is a leg?", "train"), asks(near, "train")])
    test = write(tmp_path / "test.jsonl", [asks(LONG, "test")])
    assert run(["check", train, test, "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["level"], finding["check"], finding["rows"]) == ("warning", "leakage", [1])
    assert finding["what"].endswith("of test.jsonl[0] (another split)")


def test_shards_of_one_split_do_not_leak_into_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = {"data_source": "gsm8k", "prompt": "How many legs have 2 cats?", "ground_truth": "8"}
    files = [write(tmp_path / f"train-0000{i}-of-00002.jsonl", [plain]) for i in range(2)]
    assert run(["check", *files, "--json"]) == 0
    assert [f["check"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["duplicate"]


LONG = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May?"
)


@pytest.mark.parametrize(
    ("asked", "leaks"),
    [
        (f"Here is a puzzle for you. {LONG} Think hard.", True),
        (LONG.replace("of her friends", "of all her friends"), True),
        (LONG.replace("48", "52").replace("half", "twice").replace("clips", "cards"), False),
    ],
)
def test_a_question_of_an_evaluation_set_is_leakage(
    asked: str, leaks: bool, check: Check, tmp_path: Path
) -> None:
    other = write(tmp_path / "eval.jsonl", [{"question": "How many legs have 9 dogs?"}, {"question": LONG}])
    rows = [row(0), row(1, prompt=[{"role": "user", "content": asked}], extra_info={"split": "train"})]
    result = check(rows, "--against", other)
    if not leaks:
        assert result["findings"] == []
        return
    finding = only(result, "error", "leakage")
    assert finding["rows"] == [1]
    assert "eval.jsonl[1]" in finding["what"]


def test_lines_that_are_no_rows_are_errors_with_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(row(0)) + "\n{\n" + json.dumps(row(2)) + "\n")
    assert run(["check", str(path), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["check"], finding["rows"]) == ("row", [1])


def test_columns_of_another_type_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.parquet"
    rows = {"data_source": [1], "prompt": [["q"]], "reward_model": ["{}"], "extra_info": ["{}"]}
    pq.write_table(pa.table(rows), path)
    assert run(["check", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {f["what"].split("'")[1] for f in found if f["check"] == "schema"} >= {
        "data_source",
        "prompt",
        "reward_model",
        "extra_info",
    }


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        ([{"prompt": "q", "chosen": "a", "rejected": "b"}], "preferences (TRL)"),
        ([{"prompt": "q", "completion": "a"}], "prompts and completions (TRL)"),
        (
            [{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}],
            "conversations (TRL)",
        ),
        ([{k: v for k, v in row().items() if k not in ("ground_truth", "agent_name")}], "verl"),
    ],
)
def test_the_forms_are_recognised(rows: list[Row], form: str, check: Check) -> None:
    result = check(rows)
    assert result["files"][0]["form"] == form
    assert result["code"] == 0


def test_ground_truths_of_a_trl_file_are_looked_at_once_its_source_is_named(check: Check) -> None:
    unnamed = check([{"prompt": "q", "answer": "many"}])
    assert unnamed["files"][0]["form"] == "prompts (TRL)"
    assert {(one["level"], one["check"]) for one in unnamed["findings"]} == {
        ("note", "schema"),
        ("error", "training"),
    }
    found = check([{"prompt": "q", "answer": "many"}], "--data-source", "gsm8k")["findings"]
    assert [(one["check"], one["rows"]) for one in found if one["level"] == "error"] == [
        ("ground truth", [0])
    ]
    assert check([{"prompt": "q", "answer": "4"}], "--data-source", "gsm8k")["code"] == 0


def test_the_table_shows_numbers_of_rows_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [with_truth(i, "many") for i in range(9)]
    assert run(["check", write(tmp_path / "train.jsonl", rows)]) == 1
    shown = capsys.readouterr().out
    assert "0, 1, 2, 3, 4, 5, …" in shown
    assert "1 error, 0 warnings" in shown


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nowhere.parquet"], "no such file: nowhere.parquet"),
        (["rows.jsonl", "--max-prompt-tokens", "9"], "--max-prompt-tokens needs --tokenizer"),
        (["rows.jsonl", "--tools", "none.jsonl"], "a list of mappings"),
    ],
)
def test_what_cannot_be_checked_is_one_line(
    words: list[str],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rows.jsonl", [row()])
    write(tmp_path / "none.jsonl", [{"a": 1}])
    assert run(["check", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert what in line


def test_a_prompt_that_is_too_long_under_its_tokenizer_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="lengths need transformers: pip install 'rewardkit[model]'")
    from rewardkit.demo.model import make_tokenizer

    tokenizer = make_tokenizer(["How many legs have 2 cats?"], vocab_size=300)
    tokenizer.save_pretrained(tmp_path / "model")
    rows = [row(0), row(1, prompt=[{"role": "user", "content": "How many legs? " * 50}])]
    messages = rows[0]["prompt"]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    allowed = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    words = ["--tokenizer", str(tmp_path / "model"), "--max-prompt-tokens", str(allowed), "--json"]
    assert run(["check", write(tmp_path / "train.jsonl", rows), *words]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["check"], finding["rows"]) == ("length", [1])
    assert f"at most {allowed} are allowed" in finding["what"]


def test_a_prompt_that_the_chat_template_rejects_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="lengths need transformers: pip install 'rewardkit[model]'")
    from rewardkit.demo.model import make_tokenizer

    tokenizer = make_tokenizer(["How many legs have 2 cats?"], vocab_size=300)
    tokenizer.chat_template = (
        "{% if messages[0].content == 'no' %}{{ raise_exception('odd roles') }}{% endif %}"
    )
    tokenizer.save_pretrained(tmp_path / "model")
    path = write(tmp_path / "train.jsonl", [row(0), row(1, prompt=[{"role": "user", "content": "no"}])])
    assert run(["check", path, "--tokenizer", str(tmp_path / "model"), "--max-prompt-tokens", "9"]) == 2
    said = capsys.readouterr().err
    assert f"{path}, row 1: " in said and "odd roles" in said


def test_a_file_of_rewards_beside_rows_of_a_new_source_is_pointed_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "train.jsonl", [row(data_source="my/set")])
    (tmp_path / "rewards.yaml").write_text("data_sources: [my/set]\nsum: [{reward: math}]\n")
    assert run(["check", path]) == 1
    assert f"--rewards {tmp_path}/rewards.yaml" in capsys.readouterr().out
    assert run(["check", path, "--rewards", f"{tmp_path}/rewards.yaml"]) == 0


def test_a_member_of_a_composition_that_cannot_use_a_ground_truth_is_a_warning_beside_ones_own(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_exact", "_rewards"):
        monkeypatch.setattr(REGISTRY, name, dict(getattr(REGISTRY, name)))
    (tmp_path / "mine.py").write_text(
        "import rewardkit\n\n@rewardkit.reward('mine/alone', name='never_called')\n"
        "def never_called(sample):\n    raise SystemError('called')\n"
    )
    rewards = tmp_path / "rewards.yaml"
    rewards.write_text(
        f"data_sources: [mine/mixed]\nsum: [gsm8k, {{reward: number, on_failure: drop}}, '{tmp_path}/mine.py:never_called']\n"
    )
    mixed = {**row(), "data_source": "mine/mixed"}
    assert check([mixed], "--rewards", str(rewards))["findings"] == []
    bad = {
        **mixed,
        "ground_truth": "no number",
        "reward_model": {"style": "rule", "ground_truth": "no number"},
    }
    finding = only(check([bad], "--rewards", str(rewards)), "warning", "ground truth")
    assert finding["what"].startswith("sum.gsm8k of the composition: ")
