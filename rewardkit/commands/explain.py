"""`rewardkit explain`: one judgement laid open, for when a verdict surprises."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from rewardkit.commands.common import judging_options, read_reward_options
from rewardkit.scorer import Scorer
from rewardkit.types import Sample


@click.command(
    epilog=r"Example: rewardkit explain --reward math --gold '\frac12' --response 'It is \boxed{0.5}.'"
)
@click.option("--reward", "data_source", required=True, help="A reward's name, or a data source.")
@click.option("--gold", required=True, help="The ground truth.")
@click.option("--response", required=True, help="The response; - reads it from standard input.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@judging_options
def command(
    data_source: str,
    gold: str,
    response: str,
    as_json: bool,
    option_words: tuple[str, ...],
    options_file: Path | None,
    timeout_s: float | None,
) -> None:
    """Show what was taken to be the answer, how both sides were read, and what decided."""
    if response == "-":
        response = sys.stdin.read()
    options = read_reward_options((), option_words, options_file)
    with Scorer(options=options, timeout_s=timeout_s) as scorer:
        scorer.check([data_source])
        sample = Sample(data_source, response, gold)
        score, laid_open = scorer.score(sample), scorer.explain(sample)
    if as_json:
        click.echo(json.dumps(score.as_dict() | {"explanation": laid_open and str(laid_open)}, indent=2))
        return
    if laid_open is not None:
        click.echo(laid_open)
    for name in ("score", "status", "correct", "extracted", "parts", "detail", "scorer"):
        click.echo(f"{name:>13}: {score.as_dict()[name]}")
