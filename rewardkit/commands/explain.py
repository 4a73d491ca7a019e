"""`rewardkit explain`: explains the score of a single response."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import click

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.printing import score_fields
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, load_rewards, reward_options
from rewardkit.errors import OptionsError
from rewardkit.foreign import is_spec
from rewardkit.groups import LOOKS_AT_GROUPS
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import VERDICT_FIELDS, Sample, Score


@click.command(
    cls=GroupedCommand,
    shown=("reward_files", "option_words"),
    epilog=r"Example: rewardkit explain --reward math --gold '\frac12' --response 'It is \boxed{0.5}.'",
)
@click.option(
    "--data-source", help="Data source that selects the reward. Default: the data source of --reward."
)
@click.option("--ground-truth", "--gold", "ground_truth", required=True, help="The ground truth.")
@click.option("--response", required=True, help="The response, or - to read it from standard input.")
@click.option("--prompt", help="The prompt, if the reward uses it.")
@click.option("--extra-info", help='The row\'s extra_info as a JSON object, such as {"choices": [...]}.')
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    data_source: str | None,
    ground_truth: str,
    response: str,
    prompt: str | None,
    extra_info: str | None,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Explain how a single response is scored.

    Prints the extracted answer, how the answer and the ground truth were parsed, and the reason for the
    score. For this command, --reward also accepts the name of a registered reward, such as math. The exit
    code is 1 if the response could not be scored.
    """
    if response == "-":
        response = sys.stdin.read()
    files = tuple(word for word in rewards.files if is_spec(word))
    names = [word for word in rewards.files if word not in files]
    source = data_source or _only(names, files)
    options = replace(rewards, files=files).read()
    given_to_run().saw([source])
    given_to_run().refuse_unused()
    with Scorer(options=options, timeout_s=rewards.timeout_s) as scorer:
        scorer.check([source])
        sample = Sample(source, response, ground_truth, prompt, _extra_info(extra_info))
        (score,) = scorer.score_batch([sample])
        if scorer.scores_by_group(source):
            click.echo(f"the reward of '{source}' {LOOKS_AT_GROUPS}, but gets only this response", err=True)
        explanation = scorer.explain(sample)
    if as_json:
        content = score_fields(score) | {"explanation": explanation and str(explanation)}
        click.echo(json.dumps(content, indent=2))
        return _exit_code(score)
    if explanation is not None:
        click.echo(explanation)
    for name in (*VERDICT_FIELDS, "scorer") if score.ok else ("status", "detail", "scorer"):
        click.echo(f"{name:>13}: {score.as_dict()[name]}")
    return _exit_code(score)


def _exit_code(score: Score) -> int:
    """Return the exit code that `rewardkit score` would return for a file with only this row."""
    return 0 if score.ok else 1


def _extra_info(text: str | None) -> dict[str, Any]:
    """Return the decoded value of --extra-info.

    Raises:
        OptionsError: The value is not a JSON object.
    """
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise OptionsError(f"--extra-info is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise OptionsError(
            f"--extra-info must be a JSON object, such as '{{\"choices\": [...]}}'; found {text!r:.60}"
        )
    return found


def _only(names: list[str], files: tuple[str, ...]) -> str:
    """Return the only data source of the given rewards.

    Raises:
        OptionsError: The rewards have no data source or several data sources.
    """
    if len(names) == 1 and not files:
        return names[0]
    sources = [source for reward in load_rewards(files) for source in reward.data_sources]
    if names or len(sources) != 1:
        found = ", ".join([*names, *sources]) or "none"
        raise OptionsError(f"expected one data source, found {found}; choose one with --data-source")
    return sources[0]
