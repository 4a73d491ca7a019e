"""`rewardkit import`: inspects and tries a reward from another project, and writes it to a YAML file."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import yaml

from rewardkit.audit.answers import row_of
from rewardkit.audit.audit_file import audit_rows
from rewardkit.audit.report import first_line
from rewardkit.checks.items import Item
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import ABOVE_0
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import score_fields
from rewardkit.errors import OptionsError
from rewardkit.files.publishing import exists_already, published
from rewardkit.foreign import KINDS, ForeignEntry, ForeignSpec, foreign_reward, parse_spec
from rewardkit.foreign.functions import look_at
from rewardkit.foreign.spec import is_python
from rewardkit.http_addresses import recorded_options
from rewardkit.registry import Registry, Reward
from rewardkit.rows import find_names, has_value, to_sample
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import VERDICT_FIELDS, Sample, Score

_SAMPLE: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "What is 8 * 9?"}],
    "response": "<think>8 * 9 = 72</think>\nThe answer is \\boxed{72}.\n#### 72",
    "ground_truth": "72",
}
_PRODUCTS, _AUDIT_S = 40, 10.0
_FILES = 5
"""Maximum number of source files to print."""


@click.command(
    "import",
    cls=GroupedCommand,
    groups={},
    epilog="Example: rewardkit import theirs.py --for my/set --out theirs.yaml",
)
@click.argument("spec")
@click.option(
    "--kind",
    type=click.Choice(sorted(KINDS)),
    metavar="KIND",
    help="Project that the reward was written for, such as verl or trl. Default: detected from the "
    "function's parameters.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="Python interpreter that runs the reward. Default: the one that runs rewardkit.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="PARAMETER=FIELD",
    help="Field to pass to a parameter: response, ground_truth, prompt or a key of extra_info. May be "
    "repeated.",
)
@click.option(
    "--batch",
    type=click.Choice(["sample", "group"]),
    default="sample",
    show_default=True,
    help="Responses per call of a function that accepts lists: one, or all responses to a prompt.",
)
@click.option(
    "--for",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Data source to score with the reward. May be repeated.",
)
@click.option(
    "--row",
    metavar="JSON",
    help="Row to score, as a JSON object with the fields response, ground_truth, prompt and extra_info.",
)
@click.option("--timeout", "timeout_s", type=ABOVE_0, help="Time limit per call, in seconds.")
@click.option(
    "--out", type=OutputFile(), help="Save the reward to a YAML file that other commands read with --rewards."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    spec: str,
    kind: str | None,
    python: str | None,
    columns: tuple[str, ...],
    batch: Literal["sample", "group"],
    sources: tuple[str, ...],
    row: str | None,
    timeout_s: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Try the reward SPEC from another project on one row.

    Prints the kind of reward, the values that its parameters receive, the score, and the worst way to earn
    reward without a solution. SPEC is FILE.py[:NAME],
    MODULE:NAME or KIND:TARGET. To pass options to the reward, append `?name=value&name=value`. Output that
    the reward prints goes to standard error. The exit code is 1 if the row could not be scored.
    """
    parsed = parse_spec(spec)
    given = replace(
        parsed,
        kind=kind or parsed.kind,
        python=python,
        columns=_columns(columns),
        batch=batch,
        data_sources=sources or parsed.data_sources,
        timeout_s=timeout_s or parsed.timeout_s,
    )
    sample = _sample(row, given)
    facts = _facts(given)
    reward = foreign_reward(given)
    score = _tried(reward, sample)
    audit = _audit_line(reward) if row is None and facts and score.ok else None
    if out is not None:
        _write(out, spec, given, reward)
    if as_json:
        content = {"scorer": reward.scorer, "on_exception": reward.running.on_exception, **facts}
        if "from" in facts:
            content["from"] = ", ".join(facts["from"])
        content["tried"] = score_fields(score)
        content["audit"] = audit
        click.echo(json.dumps(content, indent=2))
    else:
        _print(reward, facts, score, given_row=row is not None)
        if audit is not None:
            click.echo(f"{'audit':>9}: {audit}")
    if out is not None and not as_json:
        click.echo(f"{out}: {reward.name}")
    return 0 if score.ok else 1


def _columns(words: tuple[str, ...]) -> dict[str, str]:
    columns = {}
    for word in words:
        name, equals, field = word.partition("=")
        if not (name and equals and field):
            raise OptionsError(f"--column {word}: expected PARAMETER=FIELD, for example prediction=response")
        columns[name] = field
    return columns


def _sample(row: str | None, spec: ForeignSpec) -> Sample:
    try:
        given = json.loads(row) if row is not None else _SAMPLE
    except ValueError as error:
        raise OptionsError(f"--row is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise OptionsError(
            "--row must be a JSON object with the fields response, ground_truth, prompt and extra_info"
        )
    names = find_names(lambda name: has_value(given, name))
    known = asdict(names).values()
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise OptionsError(
            f"--row has the unknown field '{unknown}'; valid fields are response, ground_truth, prompt, "
            "extra_info and data_source"
        )
    fields = names.read(given)
    if not isinstance(given.get(names.response or ""), str):
        raise OptionsError("the field response in --row must be a string")
    source = fields.data_source or next(iter(spec.data_sources), "") or spec.target
    return to_sample(source, fields.response, fields.ground_truth, fields.prompt, fields.extra_info)


def _facts(spec: ForeignSpec) -> dict[str, Any]:
    """Return the host process's description of a Python reward, or an empty dict for any other reward."""
    if not is_python(spec):
        return {}
    seen = look_at(spec)
    files = sorted(Path(path).name for path, _ in seen.sources.values())
    every = recorded_options(spec.options, [text for _, text in seen.sources.values()])
    return {
        "kind": seen.kind + (", async" if seen.is_async else ""),
        "function": f"{seen.name}{seen.signature}",
        "gets": {**seen.gives, **dict.fromkeys(seen.asks, "extra_info of that name"), **every},
        "from": [*filter(None, [seen.distribution]), *files],
        "python": seen.python,
    }


def _tried(reward: Reward, sample: Sample) -> Score:
    registry = Registry()
    registry.use_for_all(reward)
    with Scorer(registry=registry, workers=1) as scorer:
        return scorer.score_batch([sample])[0]


def _audit_line(reward: Reward) -> str | None:
    """Return the worst exploit of a reward, tried on multiplication tasks, or None if there is no exploit."""
    if reward.running.by_group:
        return None
    registry = Registry()
    registry.use_for_all(reward)
    items = [
        Item(i, reward.name, f"What is {i} * {i + 7}?", str(i * (i + 7)), {}) for i in range(3, 3 + _PRODUCTS)
    ]
    with Scorer(registry=registry, workers=1) as scorer:
        return first_line(audit_rows([row_of(item) for item in items], scorer, _AUDIT_S))


def _print(reward: Reward, facts: dict[str, Any], score: Score, *, given_row: bool) -> None:
    means = {"error": "error, which trainers mask; ?on_exception=0 scores 0", "0": "0"}
    shown = {"scorer": reward.scorer, "summary": reward.summary, **facts}
    shown["exception"] = means[reward.running.on_exception]
    shown["gets"] = ", ".join(f"{name}={field}" for name, field in facts.get("gets", {}).items())
    origin = facts.get("from", [])
    more = f" and {len(origin) - _FILES:,} more files; --json lists all" if len(origin) > _FILES else ""
    shown["from"] = ", ".join(origin[:_FILES]) + more
    for name, value in shown.items():
        if value:
            click.echo(f"{name:>9}: {value}")
    click.echo(
        f"{'tried on':>9}: {'the row' if given_row else 'a sum whose answer is 72 (--row tries yours)'}"
    )
    shown = score_fields(score)
    for name in VERDICT_FIELDS:
        if (value := shown[name]) not in (None, {}):
            click.echo(f"{name:>9}: {value}")


def _write(out: Path, text: str, spec: ForeignSpec, reward: Reward) -> None:
    """Write a reward's entry to a new file, for use with `--rewards`.

    Raises:
        InputError: The file already exists.
    """
    if out.exists():
        raise exists_already(out, "remove it")
    bare = text.partition("=")[2] if parse_spec(text).data_sources else text
    entry = ForeignEntry(
        bare.partition("?")[0],
        kind=spec.kind if not bare.startswith(f"{spec.kind}:") else "",
        python=spec.python,
        options=dict(spec.options),
        columns=dict(spec.columns),
        batch=spec.batch,
        data_sources=list(spec.data_sources),
        timeout_s=spec.timeout_s,
        on_exception=spec.on_exception,
    )
    named = {reward.name: msgspec.to_builtins(entry)}
    with published(out) as file:
        file.write(yaml.safe_dump(named, sort_keys=False, allow_unicode=True).encode())
