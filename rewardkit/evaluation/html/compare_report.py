"""HTML page with a comparison of two scored files: the differences and the changed prompts.

The page is plain markup without scripts. Its size is bounded, however large the files are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from rewardkit.evaluation.chat import folded, shown_prompt
from rewardkit.evaluation.comparison import Comparison, PromptFlip, SourceComparison
from rewardkit.evaluation.evaluation import OVERALL
from rewardkit.evaluation.html.page import cards, facts_list, write_page
from rewardkit.evaluation.html.report import table
from rewardkit.evaluation.intervals import Difference, ends
from rewardkit.evaluation.scored import Groups, ScoredResponse

SHOWN = 200
"""Maximum number of changed prompts on the page. The prompts with the largest changes come first."""
RESPONSES = 4
"""Maximum number of responses of each file to show for a prompt."""
LONGEST = 4_000
"""Maximum number of characters of a text on the page. The middle of longer texts is omitted."""


class Texts(dict[int, str]):
    """Responses of one file by number, with long texts shortened."""

    def add(self, row: Mapping[str, object]) -> None:
        """Keep the response in a row of `read_rows`."""
        number = row["row"]
        assert isinstance(number, int)
        self[number] = folded(str(row.get("response") or ""), LONGEST)


def write_compare_report(
    found: Comparison,
    groups: tuple[Groups, Groups],
    texts: tuple[Texts, Texts],
    names: tuple[str, str],
    out: Path,
    facts: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a report of a comparison to `out`, atomically.

    Args:
        found: Comparison.
        groups: Responses in the two files.
        texts: Texts of the responses in the two files.
        names: Names of the two files.
        out: File to write.
        facts: Names and values of facts about the files, for the head of the page.

    Raises:
        InputError: The page cannot be written.
    """
    whole = found.sources.get(OVERALL) or next(iter(found.sources.values()))
    files = (("first", names[0]), ("second", names[1]))
    changed = sorted(found.flips, key=lambda flip: -abs(flip.after - flip.before))
    shown = changed[:SHOWN]
    worse = [flip for flip in shown if flip.after < flip.before]
    better = [flip for flip in shown if flip.after > flip.before]

    def one(flip: PromptFlip) -> str:
        return _flip(flip, groups, texts, names)

    parts = {
        "headline": facts_list([*files, *facts]) + _headline(whole, found),
        "table": table([cells for name, source in found.sources.items() for cells in _rows(name, source)]),
        "note": f"<p>The {SHOWN:,} largest changes of {len(changed):,} are shown.</p>"
        if len(changed) > SHOWN
        else "",
        "changed": _section("Got worse", worse, one) + _section("Got better", better, one),
    }
    title = f"{Path(names[1]).name} compared with {Path(names[0]).name}"
    write_page(out, "compare_report", title, parts, {}, {}, with_scripts=False)


def _headline(whole: SourceComparison, found: Comparison) -> str:
    known = (("accuracy", whole.accuracy), ("score", whole.score))
    facts = [
        (f"difference in {name}", f"{one.mean:+,.4f}", f"95 %: {_interval(one)}, p {one.p_value:.3g}")
        for name, one in known
        if one is not None
    ]
    left_out = found.only_first + found.only_second + found.not_scored
    facts.append(("prompts", f"{whole.prompts:,}", f"{left_out:,} skipped"))
    return cards(facts)


def _interval(one: Difference) -> str:
    return ends(one.low, one.high, "{:+,.4f}".format) or "none for one prompt"


def _rows(name: str, source: SourceComparison) -> list[dict[str, str]]:
    """Return the table cells for the differences of a data source, as markup."""
    known = (("accuracy", source.accuracy), ("score", source.score))
    return [
        {
            "data source": escape(name),
            "prompts": f"{source.prompts:,}",
            "of": what,
            "difference": f"{one.mean:+,.4f}",
            "95 % interval": _interval(one),
            "p": f"{one.p_value:.3g}",
            "test": escape(one.test),
            "better": f"{one.better:,}",
            "worse": f"{one.worse:,}",
        }
        for what, one in known
        if one is not None
    ] or [{"data source": escape(name), "prompts": "0"}]


def _section(title: str, flips: Sequence[PromptFlip], one: Callable[[PromptFlip], str]) -> str:
    return f"<h2>{title}: {len(flips):,}</h2>{''.join(map(one, flips))}" if flips else ""


def _flip(
    flip: PromptFlip, groups: tuple[Groups, Groups], texts: tuple[Texts, Texts], names: tuple[str, str]
) -> str:
    """Return the markup of a prompt, with the responses of both files and their scores."""
    prompt = folded(shown_prompt(flip.prompt), LONGEST)
    both = (
        f"<div><b>{escape(name)}</b>{_responses(group[flip.data_source][flip.prompt], text)}</div>"
        for name, group, text in zip(names, groups, texts, strict=True)
    )
    head = f"{flip.before:.2f} to {flip.after:.2f}"
    return (
        f"<details><summary><b>{head}</b> {escape(flip.data_source)} <small>{escape(prompt[:120])}</small>"
        f'</summary><pre class="box">{escape(prompt)}</pre><div class="both">{"".join(both)}</div></details>'
    )


def _responses(group: Sequence[ScoredResponse], texts: Mapping[int, str]) -> str:
    items = [
        f'<div class="turn"><span class="{_class(one)}">{_score(one)}</span>'
        f"<pre>{escape(texts.get(one.row, ''))}</pre></div>"
        for one in group[:RESPONSES]
    ]
    more = f"<p>{len(group) - RESPONSES:,} more responses</p>" if len(group) > RESPONSES else ""
    return "".join(items) + more


def _class(one: ScoredResponse) -> str:
    if not one.ok:
        return "failed"
    return "" if one.correct is None else "right" if one.correct else "wrong"


def _score(one: ScoredResponse) -> str:
    score = escape(one.status) if one.score is None else f"score {one.score:.4g}"
    answer = f", answer {escape(one.extracted[:100])}" if one.extracted else ""
    return f"{score}{answer}"
