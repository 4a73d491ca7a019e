"""What no reader sees is no answer, in either reward: hidden elements, comments, text after the end."""

from __future__ import annotations

import pytest

from rewardkit.registry import REGISTRY
from rewardkit.rewards import gsm8k, math
from rewardkit.rewards.reading.hidden_latex import without_hidden_latex
from rewardkit.rewards.reading.visible import reply, visible
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample

HIDDEN = [
    "\\iffalse %s \\fi", "\\if0 %s \\else\\fi", "\\begin{comment}%s\\end{comment}", "\\verb|%s|", "\\verb*+%s+",
    "\\begin{verbatim}\n%s\n\\end{verbatim}", "\\begin{lstlisting}\n%s\n\\end{lstlisting}", "\\textcolor{white}{%s}",
    "\\textcolor[rgb]{1,1,1}{%s}", "\\textcolor{#FFFFFF}{%s}", "{\\color{white} %s}", "\\color{white}{%s}",
    "\\phantom{%s}", "\\hphantom{%s}", "\\vphantom{%s}", "\\cancel{%s}", "\\sout{%s}", "\\label{%s}",
    "\\newcommand{\\x}{%s}", "\\def\\x{%s}", "\\setbox0=\\hbox{%s}", "\\end{document}\n%s", "\\endinput %s",
    "<eos>%s", "<|eot|>%s", "<|return|>%s", "<|user|>%s", "<end_of_turn>%s", "[/INST]%s", "[EOS]%s", "<pad>%s",
    "<script>%s</script>", "<style>%s</style>", "<template>%s</template>", "<del>%s</del>", "<![CDATA[%s]]>",
    '<img alt="%s">', '<font color="white">%s</font>', "<span style='color:white'>%s</span>",
    "\\iffalse 75 \\else %s \\fi", "\\iftrue 75 \\else %s\\fi", "\\iffalse \\iftrue\\fi %s\\fi", "\\ifnum1=0 %s\\fi",
    "75\\llap{%s}", "\\mathrlap{%s}", "\\mathphantom{%s}", "\\hide{%s}", "\\ignore{%s}", "\\cancelto{0}{%s}", "\\hcancel{%s}",
    "\\scalebox{0}{%s}", "\\resizebox{0pt}{!}{%s}", "\\texttransparent{0}{%s}", "\\transparent{0}%s", "\\gdef\\x{%s}",
    "\\providecommand{\\x}{%s}", "\\savebox{\\x}{%s}", "\\begin{Verbatim}%s\\end{Verbatim}", "\\index{%s}", "\\tag{%s}",
    "\\begin{comment*}%s\\end{comment*}", "\\textcolor{white!100}{%s}", "\\mintinline{tex}{%s}", "\\Verb|%s|",
    "&lt;!-- %s --&gt;", "<\\!-- %s -->", "\\<!-- %s -->", "<? %s ?>", "<!DOCTYPE %s>", "It was 75. <s>%s</s>", "<wrong>%s</wrong>",
    '<span title="%s">75</span>', "<span title='%s'>75</span>", '<x y="%s"/>', '<span title="<" hidden>%s</span>',
     '<img alt="<answer>72</answer>"><eos>%s',
    "<span style='position:absolute;left:-9999px'>%s</span>", "<i style='height:0;overflow:hidden'>%s</i>",
    "<b style='color:rgba(0,0,0,0)'>%s</b>", "<span class='sr-only'>%s</span>", "<b style='transform:scale(0)'>%s</b>",
    "<details><details>a</details>%s</details>", "<dialog>%s</dialog>", "<svg><defs>%s</defs></svg>", "<rp>%s</rp>",
    "<scratchpad>%s</scratchpad>", "<thinking>%s</thinking>", "<thinking>%s", "<reasoning>%s</reasoning>", "[THINK]%s[/THINK]",
    "<|channel|>analysis<|message|>%s<|end|>", "<|begin_of_thought|>%s<|end_of_thought|>",
    "<p style='opacity:0'>%s</p>", "<p style='font-size: 0'>%s</p>", "\n~~%s~~", "<script>%s", "\\phantom{%s",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("hiding", HIDDEN)
@pytest.mark.parametrize("visible_text", ["", "It is \\boxed{75}.\n#### 75\n"])
def test_a_hidden_answer_pays_in_no_reward(hiding: str, visible_text: str) -> None:
    for slot in ("\\boxed{72}", "\n#### 72\n"):
        response = visible_text + hiding.replace("%s", slot.strip() if "~" in hiding else slot)
        for preset in (None, "strict"):
            options = math.MathOptions(preset=preset) if preset else math.MathOptions()
            assert math.score(Sample("math", response, "72"), options).score == 0.0, (response, preset)
        for method in ("strict", "flexible"):
            assert gsm8k.score(Sample("gsm8k", response, "72"), gsm8k.Gsm8kOptions(method=method)).score < 1.0


@pytest.mark.parametrize(
    "hiding",
    [
        "`%s`", "``%s``", "[x]: %s", '[x]: # "%s"', "[x]: # (%s)", "[x]: <> (%s)", '[x]: #\n"%s"', '[x]: http://a.b "%s"',
        "[link](%s)", '[link](http://a.b "%s")', "![%s](a.png)", '![a](b "%s")',
    ],
)  # fmt: skip
def test_an_answer_in_code_or_in_the_target_of_a_link_does_not_replace_one_that_is_shown(hiding: str) -> None:
    for options in (math.MathOptions(), math.MathOptions(preset="strict")):
        response = "It is \\boxed{75}.\n" + hiding.replace("%s", "\\boxed{72}")
        assert math.score(Sample("math", response, "72"), options).score == 0.0
        assert math.score(Sample("math", response, "75"), options).score == 1.0
    response = "#### 75\n" + hiding.replace("%s", "####72")
    assert gsm8k.score(Sample("gsm8k", response, "72"), gsm8k.Gsm8kOptions()).score < 1.0


@pytest.mark.parametrize(
    "response",
    [
        "<s>\\boxed{72}</s>", "The answer is `\\boxed{72}`.", "[Answer]: \\boxed{72}", "[Final answer]: \\boxed{72}",
        "<|channel|>analysis<|message|>\\boxed{75}<|end|><|start|>assistant<|channel|>final<|message|>\\boxed{72}<|return|>",
        "analysisWe add: 75.assistantfinal\\boxed{72}", "analysis: it is \\boxed{72}", "analysis\n\\boxed{72}",
        "<b class='final'>\\boxed{72}</b>", "<reasoning>\\boxed{75}</reasoning>\\boxed{72}", "\\smash{\\boxed{72}}",
        "<p style='opacity:0.9'>\\boxed{72}</p>", "See [this page](https://a.b): \\boxed{72}", "\\iff x=\\boxed{72}",
    ],
)  # fmt: skip
def test_an_answer_that_is_shown_is_paid(response: str) -> None:
    assert math.score(Sample("math", response, "72")).score == 1.0, response


@pytest.mark.parametrize(
    "response", ["analysisWe add: \\boxed{72}", "analysisIt is \\boxed{72}.assistantfinal\\boxed{75}"]
)
def test_a_thought_of_harmony_without_its_tokens_is_none_either(response: str) -> None:
    assert math.score(Sample("math", response, "72")).score == 0.0, response


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{\\color{white} a} b", "{} b"),
        ("\\color{white} a \\color{black} b", "\\color{black} b"),
        ("\\phantom{a{b}c}d", "d"),
        ("\\textcolor{red}{72}", "\\textcolor{red}{72}"),
        ("\\verb|a", ""),
        ("\\begin{pmatrix}1\\end{pmatrix}", "\\begin{pmatrix}1\\end{pmatrix}"),
        ("\\iff \\labelsep \\stackrel \\tagged", "\\iff \\labelsep \\stackrel \\tagged"),
        ("a \\ifx b", "a  b"),
        ("\\iffalse \\iftrue a \\else b \\fi c \\fi d", " d"),
        ("\\iftrue a \\else b \\fi c", " c"),
    ],
)
def test_only_what_latex_hides_is_left_out(text: str, shown: str) -> None:
    assert without_hidden_latex(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "x~~y~~z", "$1<x and y>2$", "$[ab](c+d)$", "n![a](b)", "`a' and `b'", "$|x|<|y|$ and $a<b$", "\\[ x \\]", "[INSTEAD]",
    ],
)  # fmt: skip
def test_what_is_shown_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is <|begin_of_box|>72<|end_of_box|>.", "It is \\boxed{72}."),
        ("<|begin_of_box|>\\boxed{72}<|end_of_box|>", "\\boxed{72}"),
        ("It is <|begin_of_box|>72", "It is 72"),
        ("<|begin_of_box|>|x|<|end_of_box|>", "|x|"),
    ],
)
def test_the_tokens_of_a_box_are_one(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "piece",
    ["<|begin_of_box|>", "\\phantom{", "\\verb|", "~~a", "<img ", "\\color{white}", "<|", "{\\color{white}"],
)
def test_a_long_text_of_openings_is_read_once(piece: str) -> None:
    visible(piece * 100_000)


@pytest.mark.parametrize("token", ["<|assistant|>\n", "<|start_header_id|>assistant<|end_header_id|>\n\n"])
@pytest.mark.parametrize(
    ("name", "response", "ground_truth"),
    [
        ("gsm8k", "#### 72", "72"), ("math", r"\boxed{72}", "72"), ("choice", "B", "B"), ("qa", "Paris", "Paris"), ("contains", "Paris", "Paris"),
        ("number", "72", "72"), ("rouge_l", "the cat sat", "the cat sat"), ("exact", "Paris", "Paris"),
    ],
)  # fmt: skip
def test_the_end_of_the_prompt_before_a_response_hides_nothing(
    token: str, name: str, response: str, ground_truth: str
) -> None:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    runner = RewardRunner(reward, reward.make_options({}))
    assert runner.run_one(Sample(name, token + response, ground_truth, "q")).score == 1.0
    behind = runner.run_one(Sample(name, f"wrong{token}{response}", ground_truth, "q"))
    assert not behind.correct, "another turn is no answer"


def test_what_stands_between_two_thoughts_is_seen() -> None:
    for response, said in (
        ("<think>a</think>b<think>c</think>d", "b\nd"),
        ("b<think>c</think>", "b"),
        ("b<think>c", "b"),
        ("a</think>b<think>c</think>d", "b\nd"),
        ("a</think>b</think>c", "c"),
        ("<think>a<think>b</think>c", "c"),
        ("<think>a</think>b<think>c", "b"),
    ):
        assert reply(response) == visible(response) == said, response


@pytest.mark.parametrize("name", ["math", "gsm8k", "json", "exact", "choice", "qa", "number"])
def test_answers_before_and_after_a_later_thought_are_both_given(name: str) -> None:
    truth, wrong = ("B", "C") if name == "choice" else ("72", "75")
    template = {"math": "\\boxed{%s}", "gsm8k": "#### %s"}.get(name, "%s")
    reward = REGISTRY.resolve(name)
    score = RewardRunner(reward, reward.make_options({})).run_one

    def paid(first: str, second: str) -> float:
        response = (
            f"<think>Hm.</think>{template % first}<think>Let me check.</think>{second and template % second}"
        )
        return score(Sample(name, response, truth)).score

    assert paid(truth, "") == 1.0
    assert paid(wrong, "") < 1.0
    assert paid(truth, wrong) < 1.0


@pytest.mark.parametrize(
    "token",
    [
        "<pad>",
        "[PAD]",
        "<unk>",
        "[SEP]",
        "<|im_end|>",
        "<end_of_utterance>",
        "</s>",
        "<|fim_pad|>",
        "<｜▁pad▁｜>",
    ],
)
def test_tokens_that_fill_up_a_response_are_no_part_of_it(token: str) -> None:
    for answer, name, truth in (
        ("\\boxed{72}", "math", "72"), ("#### 72", "gsm8k", "72"), ('{"a": 1}', "json", '{"a": 1}'), ("72", "exact", "72"), ("72", "number", "72"),
        ('[f(a="x")]', "tool_call", '[{"name": "f", "arguments": {"a": "x"}}]'), ("B", "choice", "B"), ("Canberra", "qa", "Canberra"),
    ):  # fmt: skip
        reward = REGISTRY.resolve(name)
        sample = Sample(name, answer + "\n" + token * 3 + " " + token, truth)
        found = RewardRunner(reward, reward.make_options({})).run_one(sample)
        assert found.score == 1.0, (name, token, found)


@pytest.mark.parametrize(
    ("name", "truth", "response"),
    [
        ("exact", "[MASK]", "[MASK]"), ("contains", "[MASK]", "BERT fills in [MASK]"),
        ("regex", r"\[MASK\]", "[MASK]"),
        ("yaml", '{"value": {"tokens": ["MASK"]}}', "tokens: [MASK]"),
        ("yaml", '{"value": {"tokens": ["PAD"]}}', "tokens: [PAD]"),
        ("xml", '["mask"]', "<mask>x</mask>"), ("xml", '["sos", "eos"]', "<sos>1</sos>\n<eos>2</eos>"),
        ("tool_call", '[{"name": "f", "arguments": {"a": "[MASK]"}}]', "Action: f\nAction Input: [MASK]"),
    ],
)  # fmt: skip
def test_values_and_elements_with_the_names_of_tokens_are_data(name: str, truth: str, response: str) -> None:
    reward = REGISTRY.resolve(name)
    runner = RewardRunner(reward, reward.make_options({}))
    for ending in ("", "<|im_end|>", "\n</s>"):
        assert runner.run_one(Sample(name, response + ending, truth)).score == 1.0, ending


def test_long_runs_of_such_tokens_are_read_in_one_pass() -> None:
    for run in ("<pad>" * 200_000, "\n" * 1_000_000 + "<pad>", "<think>" * 200_000, "</think>" * 200_000):
        assert "72" in reply("72" + run) or "think" in run
