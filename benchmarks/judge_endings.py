r"""Endings of judges' answers, in families: are clear verdicts read, and are others refused?

    python benchmarks/judge_endings.py [--held-out] [--show 20]

MARK is the marker, NUM a number in the range 0 to 10, and OTHER another one. A clear ending has the verdict
NUM. An unclear ending has none: its number is an example, a limit, a quotation, struck out or withdrawn, or
another one competes with it. A clear ending without a verdict is missed, and an unclear ending with one is
read wrongly.

`--held-out` uses the families that were written for the figures and not looked at during development.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import NoVerdictError, read_verdict

# ruff: noqa: E501
MARKERS = ("VERDICT-0a1b2c3d4e5f:", "Final Decision:")
BEFORES = (
    "",
    "It is right, but one of 3 sources is missing.\n",
    "**Strengths:** tone.\n\n**Weaknesses:** dates.\n\n",
)
NUMBERS = (("7", "4"), ("0", "8"), ("8.5", "6"))

CLEAR = {
    "plain": ["MARK NUM", "MARK NUM\n", "MARKNUM", "MARK  NUM  ", "MARK\nNUM", "MARK NUM.", "MARK NUM!"],
    "bold": ["**MARK NUM**", "**MARK** NUM", "MARK **NUM**", "**MARK** **NUM**", "__MARK NUM__", "*MARK NUM*", "***MARK*** NUM"],
    "fenced": ["```\nMARK NUM\n```", "`MARK NUM`", "```text\nMARK NUM\n```\n", "MARK `NUM`", "~~~\nMARK NUM\n~~~"],
    "thinking": ["<think>MARK OTHER?</think>MARK NUM", "</think>\n\nMARK NUM", "<think>\nOTHER or NUM\n</think>\n\n**MARK NUM**"],
    "channels": ["<|channel|>analysis<|message|>MARK OTHER?<|end|><|start|>assistant<|channel|>final<|message|>MARK NUM<|return|>"],
    "ends": ["MARK NUM<|im_end|>", "MARK NUM</s>", "MARK NUM<|eot_id|>\n", "MARK NUM<|endoftext|>"],
    "scale": ["MARK NUM/10", "MARK NUM / 10", "MARK **NUM/10**", "MARK **NUM**/10", "MARK NUM out of 10", "MARK NUM/10.", "MARK NUM of 10"],
    "points": ["MARK NUM points", "MARK NUM/10 points", "MARK NUM points.", "MARK NUM pts", "MARK NUM分"],
    "brackets": ["MARK (NUM)", "MARK [NUM]", "MARK [[NUM]]", 'MARK "NUM"', "MARK “NUM”", "MARK {NUM}"],
    "latex": ["MARK $NUM$", "MARK \\boxed{NUM}", "$\\boxed{NUM}$".join(["MARK ", ""]), "\\boxed{MARK NUM}", "MARK \\textbf{NUM}"],
    "tags": ["MARK <b>NUM</b>", "<b>MARK NUM</b>", "<p>MARK NUM</p>", "<verdict>MARK NUM</verdict>", "<b>MARK</b> NUM", "MARK NUM</answer>"],
    "lists": ["- MARK NUM", "* **MARK** NUM", "1. MARK NUM", "3) MARK NUM", "• MARK NUM", "– MARK NUM"],
    "headings": ["# MARK NUM", "### MARK NUM", "### **MARK NUM**", "## Verdict\n\nMARK NUM", "---\nMARK NUM", "---\n\nMARK NUM\n\n---"],
    "objects": ['MARK {"score": NUM}', 'MARK ```json\n{"score": NUM}\n```', 'MARK\n```json\n{"reason": "short", "score": NUM}\n```', 'MARK `{"score": NUM}`'],
    "reasons": ["MARK NUM\nReason: it is short.", "MARK NUM\n\n**Reason:** the dates are missing.", "MARK NUM\n\n## Reasons\n- tone\n- dates"],
    "sentences": ["MARK NUM. The response is good but short.", "MARK NUM\n\nI hope this helps!"],
    "same line": ["It is good, but the dates are missing. MARK NUM", "Is it right? Yes! MARK NUM", "It names all sources. **MARK NUM**"],
    "mentions": ["I have to write MARK and a number.\nMARK NUM", "I end with MARK.\n\nMARK NUM"],
}  # fmt: skip
CLEAR_HELD_OUT = {
    "plain with spaces": ["\n\nMARK NUM\n\n", "  MARK NUM", "MARK\tNUM", "MARK\n\nNUM\n", "\r\nMARK NUM\r\n"],
    "marked words": ["**MARK NUM/10**", "**MARK** *NUM*", "_MARK_ NUM", "**MARK**NUM", "**MARK  NUM**\n", "*MARK* `NUM`"],
    "bold word": ["**MARKWORD**: NUM", "`MARKWORD`: NUM", "__MARKWORD__: **NUM**", "<b>MARKWORD</b>: NUM"],
    "fences": ["````\nMARK NUM\n````", "```markdown\n**MARK NUM**\n```", "```\nMARK NUM/10\n```\n\n", "  ```\n  MARK NUM\n  ```"],
    "thoughts": ["<thinking>MARK OTHER</thinking>\nMARK NUM", "[THINK]OTHER[/THINK]MARK NUM", "<reasoning>\nMARK OTHER\n</reasoning>\n**MARK NUM**", "<think>a</think>\n<think>OTHER</think>\nMARK NUM"],
    "ends of turns": ["**MARK NUM**<|im_end|>\n", "MARK NUM<end_of_turn>", "MARK NUM/10<|end|>", "MARK NUM<|im_end|><|endoftext|>"],
    "scales": ["MARK NUM/10.0", "MARK (NUM/10)", "MARK NUM (out of 10)", "MARK **NUM** / **10**", "MARK `NUM/10`", "MARK NUM von 10", "MARK NUM sur 10", "MARK NUM из 10", "MARK $NUM/10$", "MARK NUM [/10]"],
    "units": ["MARK NUM Punkte", "MARK NUM/10 pts.", "MARK **NUM** points", "MARK NUM 分", "MARK NUM点。", "MARK NUM out of 10 points"],
    "quotes": ["MARK ‘NUM’", "MARK «NUM»", "MARK (**NUM**)", "MARK <NUM>", "MARK 'NUM'.", "(MARK NUM)", "[MARK NUM]"],
    "formulas": ["MARK \\(NUM\\)", "MARK $\\mathbf{NUM}$", "\\[\\boxed{MARK NUM}\\]", "MARK $$NUM$$", "MARK \\boxed{NUM/10}", "\\textbf{MARK NUM}"],
    "elements": ["<div>MARK NUM</div>", '<span class="x">MARK NUM</span>', "MARK <strong>NUM</strong>/10", "<answer>MARK NUM</answer>", "<answer>\nMARK NUM\n</answer>", "<h3>MARK <em>NUM</em></h3>", "MARK NUM<br>"],
    "signs": ["→ MARK NUM", "**→ MARK NUM**", "✅ MARK NUM", "a) MARK NUM", "+ MARK NUM", "2. **MARK** NUM/10", "| MARK | NUM |", "— MARK NUM"],
    "sections": ["## MARK\nNUM", "### Final rating\nMARK NUM", "***\n**MARK NUM**\n***", "#### MARK **NUM**", "=====\nMARK NUM"],
    "marked objects": ['MARK {"verdict": NUM, "reason": "good"}', '**MARK**\n\n```json\n{"score": NUM}\n```\n', '```json\n{"MARKWORD": NUM}\n```', '{"reason": "short", "MARKWORD": NUM}', '```\nMARK {"score": NUM}\n```'],
    "labelled": ["MARK NUM\n\nJustification: all dates are missing.", "MARK NUM/10\n**Explanation:**\nThe tone is right.\nThe dates are not.", "MARK NUM\n理由：回答很短。", "MARK NUM\n- Tone: good\n- Dates: missing"],
    "remarks": ["MARK NUM. Good.", "MARK NUM\n\nLet me know if you have questions!", "MARK NUM (good, but short)", "MARK NUM - clear but short"],
    "one line": ["Some facts are wrong! MARK NUM", "回答很好。MARK NUM", "The tone (of both parts) is right. **MARK** NUM/10", "<critique>It lacks two facts.</critique> MARK NUM"],
    "repeated": ["MARK NUM\n\nMARK NUM", "MARK NUM\n---\n**MARK NUM**", "The line will be MARK followed by a number.\n**MARK** NUM"],
}  # fmt: skip
UNCLEAR = {
    "withdrawn": [f"MARK NUM\n{text}" for text in ("Cancel that.", "Scratch that", "Wait, no.", "Never mind.", "I take that back.", "On reflection, this is too high.")],
    "struck out": ["<del>MARK NUM</del>", "~~MARK NUM~~", "MARK ~~NUM~~", "MARK <s>NUM</s>", "~~MARK NUM~~ OTHER", "<strike>MARK NUM</strike>", "MARK ~~NUM~~ OTHER"],
    "examples": ["Example: MARK NUM", "For example, MARK NUM", "e.g. MARK NUM", "**Example:** MARK NUM", "Use the form MARK NUM", "(such as MARK NUM)"],
    "limits": ["Max MARK NUM", "Maximum MARK NUM", "Max. MARK NUM", "At most MARK NUM", "up to MARK NUM"],
    "quotations": ['The response says "MARK NUM"', "It ends with `MARK NUM`", "> MARK NUM", "The response claims MARK NUM", 'It says:\n> MARK NUM'],
    "ranges": ["MARK NUM-OTHER", "MARK NUM to OTHER", "MARK NUM or OTHER", "MARK between NUM and OTHER", "MARK NUM–OTHER", "MARK NUM, OTHER"],
    "corrections": ["MARK NUM, no, OTHER", "MARK NUM\nNo: OTHER", "MARK NUM\nMARK OTHER", "MARK NUM -> OTHER", "MARK NUM\nCorrection: OTHER", "MARK NUM. No, OTHER."],
    "hedges": ["MARK about NUM", "MARK ~NUM", "MARK NUM?", "MARK at least NUM", "MARK not NUM", "MARK NUM or so", "MARK NUM+", "MARK maybe NUM"],
    "conditions": ["If it were right, MARK NUM", "It would be MARK NUM", "I cannot give MARK NUM", "Not MARK NUM", "MARK NUM if the dates are right", "MARK NUM, provided that it is true"],
    "other scales": ["MARK NUM/5", "MARK NUM/100", "MARK NUM%", "MARK NUM out of 20", "MARK NUM stars", "MARK NUM/10/10", "MARK NUMe1"],
    "several criteria": ["MARK NUM on style, OTHER on content", "MARK style NUM", "MARK NUM | OTHER", "MARK [NUM, OTHER]", 'MARK {"style": NUM, "content": OTHER}'],
    "nothing": ["MARK", "MARK good", "MARK N/A", "MARK [score]", "NUM", "MARK <number>"],
    "thought only": ["<think>MARK NUM", "<think>It is NUM.\nMARK NUM", "MARK NUM<think>or OTHER"],
}  # fmt: skip
UNCLEAR_HELD_OUT = {
    "taken back": [f"MARK NUM{gap}{text}" for gap in (". ", "\n\n", " ") for text in ("Strike that.", "Forget it", "Non, annulé.", "I withdraw this verdict.", "Das nehme ich zurück.", "Please ignore the line above.", "取り消します。", "Actually that is far too generous for such an answer, so disregard it.")],
    "crossed out": ["<s>MARK</s> NUM", "<del>MARK NUM", "~~**MARK NUM**~~", "<!-- MARK NUM -->", "MARK <del>NUM</del> OTHER", "\\sout{MARK NUM}", "MARK \\cancel{NUM}", "<del>\nMARK NUM\n</del>", "~~It is good.\nMARK NUM~~", "- ~~MARK NUM~~"],
    "forms": ["Format: MARK NUM", "Template MARK NUM", "I should write something like MARK NUM", "Sample output: `MARK NUM`", "Ex. MARK NUM", "z. B. MARK NUM", "Beispiel: MARK NUM", "*For instance:* MARK NUM", "i.e., MARK NUM", "1. Example: MARK NUM"],
    "bounds": ["Min MARK NUM", "Highest possible MARK NUM", "Previous MARK NUM", "Old MARK NUM", "Target: MARK NUM", "Threshold MARK NUM", "**Max** MARK NUM", "Baseline - MARK NUM"],
    "quoted": ['He wrote: "MARK NUM".', "The answer contains MARK NUM.", "“MARK NUM” is what it wants to see", "<blockquote>MARK NUM</blockquote>", "<q>MARK NUM</q>", "It asks me for **MARK NUM**", '"MARK NUM", says the response'],
    "spans": ["MARK NUM~OTHER", "MARK NUM bis OTHER", "MARK from NUM to OTHER", "MARK NUM/OTHER", "MARK NUM ± OTHER", "MARK NUM… OTHER", "MARK NUM and OTHER", "MARK > NUM"],
    "changes": ["MARK NUM\nEdit: OTHER", "MARK NUM\n\nFinal: OTHER/10", "MARK NUM => OTHER", "MARK NUM (was OTHER)", "MARK NUM\nUpdate: I now think OTHER.", "MARK NUM\nrather OTHER", "MARK NUM\nMARK {\"score\": OTHER}", "MARK OTHER\n...\nMARK NUM"],
    "doubts": ["MARK NUM (?)", "MARK roughly NUM", "MARK NUM??", "MARK <NUM?>", "MARK NUM-ish", "MARK ca. NUM", "MARK I am torn", "MARK probably NUM", "MARK NUM*maybe*", "MARK NUM (provisional)"],
    "negations": ["This is not a case of MARK NUM", "Never MARK NUM", "MARK anything but NUM", "MARK no NUM", "No MARK NUM", "MARK -NUM1", "MARK !NUM", "Without the error, MARK NUM"],
    "odd scales": ["MARK NUM out of 5", "MARK NUM (of 20)", "MARK NUM‰", "MARK NUM x 10", "MARK NUM/10 x", "MARK 1NUM1", "MARK NUM ★", "MARK NUM^2", "MARK NUMth"],
    "lists of scores": ["MARK a NUM, b OTHER", "MARK\n- style: NUM\n- content: OTHER", "MARK NUM; OTHER", '{"MARKWORD": [NUM, OTHER]}', '{"MARKWORD": NUM, "confidence": OTHER}', "MARK\nNUM. Clear\nOTHER. Short"],
    "empty": ["MARK ", "MARK ?", "MARK -", "MARK none", "MARK see above", "MARK __", "Score: NUM", "MARK\n\nIt is good.", "MARK null"],
    "unfinished": ["<thinking>\nMARK NUM\n", "[THINK]MARK NUM", "<|channel|>analysis<|message|>MARK NUM", "MARK NUM</think>"],
}  # fmt: skip


def endings(families: dict[str, list[str]]) -> Iterator[tuple[str, str, str, str]]:
    """Generate the family, marker, answer and number of each ending."""
    for family, templates in families.items():
        for template, marker, before, (number, other) in product(templates, MARKERS, BEFORES, NUMBERS):
            text = template.replace("MARKWORD", marker[:-1]).replace("MARK", marker)
            text = text.replace("NUM", number).replace("OTHER", other)
            alone = text.startswith(("<", "[TH", "{")) or "\n```" in text or "</think>" in text
            yield family, marker, text if alone else before + text, number


def verdict(answer: str, marker: str) -> float | None:
    """Return the verdict in an answer, or None."""
    try:
        return read_verdict(answer, marker, JudgeOptions(url="http://localhost/v1", model="m")).value
    except NoVerdictError:
        return None


def report(name: str, families: dict[str, list[str]], show: int, *, clear: bool) -> None:
    """Print the number of failures in each family, and some of them."""
    made = list(dict.fromkeys(endings(families)))
    failed = [
        (family, text, found)
        for family, marker, text, number in made
        if (found := verdict(text, marker)) != (float(number) if clear else None)
    ]
    wrong = [one for one in failed if one[2] is not None]
    print(f"{name}: {len(made)} endings in {len(families)} families")
    print(f"  {'missed' if clear else 'read'}: {len(failed)} {dict(Counter(one[0] for one in failed))}")
    if clear:
        print(f"  read as another number: {len(wrong)}")
    for family, text, found in failed[:: max(1, len(failed) // show)] if show else ():
        print(f"    {family}: {text!r} -> {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    held = given.held_out
    report("clear", CLEAR_HELD_OUT if held else CLEAR, given.show, clear=True)
    report("unclear", UNCLEAR_HELD_OUT if held else UNCLEAR, given.show, clear=False)


if __name__ == "__main__":
    main()
