"""`rewardkit serve`: serves rewards over HTTP."""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GROUPS
from rewardkit.commands.options.numbers import ABOVE_0, COUNT, NOT_NEGATIVE, NUMBER
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.serve_file import ServingCommand, config_option, in_file, is_only_tried
from rewardkit.errors import ConfigError, InputError, reason_of, require
from rewardkit.groups import LOOKS_AT_GROUPS
from rewardkit.registry import REGISTRY
from rewardkit.sandbox import Pool, levels
from rewardkit.scoring.scorer import Scorer

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rewardkit.server.ground_truths import GroundTruthIndex
    from rewardkit.server.observability.traces import Traces
    from rewardkit.server.serve import Serving
    from rewardkit.server.tasks import TaskSet

_FILE = click.Path(dir_okay=False, path_type=Path)
_SHIPPED_GROUPS = {"rank", "diversity"}
"""Group rewards that every server has. The line that is printed at startup omits them."""

_GROUPS = {
    "security": "insecure certfile keyfile cors_origins hosts",
    "limits": "max_body_mb max_samples max_bodies_mb scorer_memory_mb request_timeout drain_s",
    "endpoints": "run_code no_sandbox ground_truth_files ground_truth_tokenizer task_words on_failure",
    "logs": "access_log otel",
    "rewards": GROUPS["rewards"],
}


@click.command(
    cls=ServingCommand,
    groups=_GROUPS,
    shown=("reward_files", "option_words", "composition_files", "timeout_s"),
    epilog="Example: rewardkit serve --port 8000 --option gsm8k:method=flexible",
)
@config_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port to listen on. Use 0 for any free port.",
)
@click.option(
    "--workers",
    type=COUNT,
    default=1,
    show_default=True,
    help="Number of server processes. Use more if one process is at 100 % CPU. The processes share the "
    "limits.",
)
@click.option(
    "--scorers",
    type=COUNT,
    help="Total number of scoring processes, divided among the server processes. Default: one per CPU core.",
)
@click.option(
    "--token-file",
    type=_FILE,
    help="File with bearer tokens to accept, one per line. Tokens in REWARDKIT_TOKEN are also accepted.",
)
@click.option("--insecure", is_flag=True, help="Allow a public address without a token.")
@click.option("--certfile", type=_FILE, help="Certificate chain (PEM). Enables TLS.")
@click.option("--keyfile", type=_FILE, help="Private key, if --certfile does not contain it.")
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    help="Allow web pages from this origin to send requests (CORS). May be repeated.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    help="Accept requests for this host name if the server has no token. May be repeated.",
)
@click.option("--run-code", is_flag=True, help="Also serve the SandboxFusion API at /run_code.")
@click.option("--no-sandbox", is_flag=True, help="Start without a working sandbox. Code is not scored.")
@click.option(
    "--max-body-mb",
    type=COUNT,
    default=64,
    show_default=True,
    help="Maximum size of a request body, in MiB.",
)
@click.option(
    "--max-samples",
    type=COUNT,
    default=50_000,
    show_default=True,
    help="Maximum number of samples in progress. Requests that exceed it are rejected with status 503.",
)
@click.option(
    "--max-bodies-mb",
    type=COUNT,
    default=1024,
    show_default=True,
    help="Maximum memory for all request bodies, in MiB.",
)
@click.option(
    "--scorer-memory-mb",
    type=COUNT,
    help="Maximum memory of a scoring process, in MiB. A larger process is replaced, and its samples are "
    "scored once more. Default: no limit.",
)
@click.option(
    "--request-timeout",
    type=ABOVE_0,
    default=60.0,
    show_default=True,
    help="Time limit in seconds for requests without an X-Timeout-S header. Samples that are not scored in "
    "time get the status timeout.",
)
@click.option(
    "--drain-s",
    type=NOT_NEGATIVE,
    default=30.0,
    show_default=True,
    help="Seconds to wait for running requests after SIGTERM.",
)
@click.option("--access-log", is_flag=True, help="Log every request.")
@click.option(
    "--otel",
    is_flag=True,
    help="Send OpenTelemetry traces. Configure the exporter with OTEL_EXPORTER_OTLP_ENDPOINT and related "
    "variables.",
)
@click.option(
    "--gold",
    "ground_truth_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Parquet file with prompts and ground truths, for trainers that do not send ground truths. May be "
    "repeated.",
)
@click.option(
    "--gold-tokenizer",
    "ground_truth_tokenizer",
    help="Tokenizer (folder or hub ID) whose chat template the trainer applies to the prompts.",
)
@click.option(
    "--tasks",
    "task_words",
    multiple=True,
    metavar="[NAME=]PATH",
    help="Prepared parquet file or folder to serve as an Open Reward Standard environment. May be repeated.",
)
@click.option(
    "--on-failure",
    type=NUMBER,
    default=0.0,
    show_default=True,
    help="Reward for responses that could not be scored, in protocols that cannot report failures.",
)
@reward_options
def command(rewards: RewardOptions, **given: Any) -> Serving:
    """Serve rewards over HTTP.

    Clients send samples to POST /score. The server also answers GET requests for /rewards, /metrics,
    /healthz, /readyz and /docs.
    """
    for package in ("fastapi", "httptools", "prometheus_client", "uvicorn", "websockets"):
        require("rewardkit serve", package, "server")
    from rewardkit.server import serve as serving
    from rewardkit.server.observability import logs

    logs.keep_standard_streams()
    asked = ServeOptions(**given)
    serving.check_certificate(asked.certfile, asked.keyfile)
    service = Service.prepare(asked, rewards)
    return serving.Serving(
        service.open_app, asked.host, asked.port, asked.workers, asked.drain_s, asked.certfile, asked.keyfile
    )


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the command, except for reward options."""

    host: str
    port: int
    workers: int
    scorers: int | None
    token_file: Path | None
    insecure: bool
    certfile: Path | None
    keyfile: Path | None
    cors_origins: tuple[str, ...]
    hosts: tuple[str, ...]
    run_code: bool
    no_sandbox: bool
    max_body_mb: int
    max_samples: int
    max_bodies_mb: int
    scorer_memory_mb: int | None
    request_timeout: float
    drain_s: float
    access_log: bool
    otel: bool
    ground_truth_files: tuple[Path, ...]
    ground_truth_tokenizer: str | None
    task_words: tuple[str, ...]
    on_failure: float


@dataclass(frozen=True, slots=True)
class Service:
    """Data that a server process needs to create its application, already read and checked."""

    asked: ServeOptions
    timeout_s: float | None
    """Time limit for a sample in seconds, or None for the limit of each reward."""
    options: dict[str, dict[str, Any]]
    """Options of rewards, by data source."""
    tokens: Sequence[str]
    ground_truths: GroundTruthIndex | None
    tasks: dict[str, TaskSet]
    scorers: int
    """Number of scoring processes for each server process."""
    exported_traces: Callable[[], AbstractContextManager[Traces]] | None

    @classmethod
    def prepare(cls, asked: ServeOptions, rewards: RewardOptions) -> Service:
        """Read and check the files and settings that the options name.

        Raises:
            RewardkitError: A file or setting cannot be used. Raised before a process starts.
        """
        tokens = [*in_file("tokens", []), *_read_tokens(asked.token_file)]
        if not asked.insecure:
            _check_closed(asked.host, tokens)
        options = rewards.read(in_file("options", {}))
        given_to_run().keep_all()  # the data sources of clients' rows are not known in advance
        if not asked.ground_truth_files:
            refuse_given(("ground_truth_tokenizer",), "the tokenizer is used only for the prompts of --gold")
        ground_truths = (
            _index(asked.ground_truth_files, asked.ground_truth_tokenizer)
            if asked.ground_truth_files
            else None
        )
        tasks: dict[str, TaskSet] = _task_sets(asked.task_words, asked.workers) if asked.task_words else {}
        _look_for_groups(tasks, ground_truths)
        share = _share(asked.scorers or len(os.sched_getaffinity(0)), asked.workers)
        exported_traces = _exported_traces() if asked.otel else None
        Scorer(options=options).close()  # reports errors in the options once, before serving
        return cls(asked, rewards.timeout_s, options, tokens, ground_truths, tasks, share, exported_traces)

    @contextlib.contextmanager
    def open_app(self) -> Iterator[FastAPI]:
        """Create the application and the scorer of a server process for the block."""
        # These modules must not be imported earlier, because the metrics read the environment on import.
        from rewardkit.server.app import create_app
        from rewardkit.server.observability import logs

        asked = self.asked
        REGISTRY.listed_at = "GET /rewards"  # clients may have no command line
        needs: dict[str, Callable[[], object]] = {} if asked.no_sandbox else {"sandbox": levels.choose}
        with ExitStack() as stack:
            stack.enter_context(logs.json_logs(access_log=asked.access_log))
            stack.enter_context(logs.output_logged())
            scorer = stack.enter_context(
                Scorer(options=self.options, workers=self.scorers, timeout_s=self.timeout_s, express=True)
            )
            needs["models"] = scorer.warm_up
            traces = stack.enter_context(self.exported_traces()) if self.exported_traces else None
            yield create_app(
                scorer,
                tokens=self.tokens,
                max_body_bytes=asked.max_body_mb << 20,
                max_samples=max(1, asked.max_samples // asked.workers),
                max_bytes=(asked.max_bodies_mb << 20) // asked.workers,
                scorer_bytes=asked.scorer_memory_mb and asked.scorer_memory_mb << 20,
                timeout_s=asked.request_timeout,
                cors_origins=asked.cors_origins,
                hosts=asked.hosts,
                access_log=asked.access_log,
                sandbox=stack.enter_context(Pool(self.scorers, spare=1)) if asked.run_code else None,
                needs=needs,
                ground_truths=self.ground_truths,
                on_failure=asked.on_failure,
                processes=asked.workers,
                tasks=self.tasks,
                begin_trace=traces.begin if traces else None,
            )


def _check_closed(host: str, tokens: Sequence[str]) -> None:
    if not tokens and not _is_local(host):
        raise ConfigError(
            f"--host {host} is reachable from other machines; pass --token-file, or --insecure to allow "
            "requests without a token"
        )


def _index(files: Sequence[Path], tokenizer: str | None) -> GroundTruthIndex | None:
    """Read the ground truths and log a report. If this process will not serve, only check the files."""
    from rewardkit.server.ground_truths import (
        GroundTruthIndex,
        check_files,
    )  # imported only if needed, since it imports Arrow
    from rewardkit.server.observability import logs

    if is_only_tried():
        check_files(files)
        return None
    found = GroundTruthIndex(files, tokenizer=tokenizer)
    logs.write_line(found.report())
    return found


def _task_sets(words: Sequence[str], workers: int) -> dict[str, TaskSet]:
    if workers > 1:
        raise ConfigError(
            f"--tasks needs --workers 1, because one process must keep all sessions; found {workers}"
        )
    from rewardkit.server.task_files import open_task_sets  # also imports Arrow

    return open_task_sets(words)


def _look_for_groups(tasks: Mapping[str, TaskSet], ground_truths: GroundTruthIndex | None) -> None:
    """Check that no task has a group reward, and log all other data sources that have group rewards.

    Raises:
        ConfigError: The reward of a task needs all responses to a prompt, but an episode has only one
            response.
    """
    from rewardkit.server.exchanges import SEND_GROUP
    from rewardkit.server.observability import logs

    for name, tasks_of_name in tasks.items():
        for source in sorted(tasks_of_name.data_sources):
            if REGISTRY.looks_at_groups(source):
                raise ConfigError(
                    f"--tasks {name}: the reward of '{source}' {LOOKS_AT_GROUPS}, but an episode has only "
                    "one response; use another reward for these tasks"
                )
    known = ground_truths.data_sources if ground_truths is not None else set()
    sources = {source for reward in REGISTRY if reward.running.by_group for source in reward.data_sources}
    found = sorted(s for s in known | (sources - _SHIPPED_GROUPS) if REGISTRY.looks_at_groups(s))
    if found:
        logs.write_line(
            f"{', '.join(found)}: the reward {LOOKS_AT_GROUPS}, so requests with a single response "
            f"(slime, ROLL, NeMo-Gym) are rejected: {SEND_GROUP}"
        )


def _exported_traces() -> Callable[[], AbstractContextManager[Traces]]:
    require("--otel", "opentelemetry", "otel")
    from rewardkit.server.observability import traces

    traces.exporter()  # reports errors once, before serving
    return traces.exported


def _share(scorers: int, workers: int) -> int:
    """Return the number of scoring processes for each server process, given their total number `scorers`.

    Raises:
        ConfigError: There are fewer scoring processes than server processes.
    """
    if scorers < workers:
        raise ConfigError(
            f"--workers {workers} needs at least {workers} scoring processes, not {scorers}; "
            f"pass --scorers {workers} or more"
        )
    return scorers // workers


def _read_tokens(token_file: Path | None) -> list[str]:
    tokens = os.environ.get("REWARDKIT_TOKEN", "").split()
    if token_file is None:
        return tokens
    try:
        lines = token_file.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {token_file}: {reason_of(error)}") from None
    if not lines:
        raise InputError(f"{token_file} contains no token; write one token on each line")
    return [*tokens, *lines]


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
