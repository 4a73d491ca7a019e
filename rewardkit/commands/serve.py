"""`rewardkit serve`: the rewards over HTTP."""

from __future__ import annotations

import ipaddress
import math
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import click

from rewardkit.commands.common import err, read_reward_options, reward_options
from rewardkit.errors import ConfigError, InputError, MissingDependencyError
from rewardkit.sandbox import Pool
from rewardkit.scorer import Scorer


@click.command(epilog="Example: rewardkit serve --port 8000 --option gsm8k:method=flexible")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, help="Port to listen on; 0: any free one.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to score with. Default: one per core.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Accepted bearer tokens, one a line. Or set REWARDKIT_TOKEN.",
)
@click.option("--insecure", is_flag=True, help="Allow a public address without a token.")
@click.option("--run-code", is_flag=True, help="Also serve /run_code, as SandboxFusion does.")
@click.option("--max-body-mb", default=64, show_default=True, help="Refuse larger requests.")
@click.option(
    "--gold",
    "gold_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Parquet with what prompts are judged against, for trainers that do not send it. Repeatable.",
)
@click.option("--gold-tokenizer", help="Folder or hub id of the tokenizer whose chat template prompts have.")
@click.option(
    "--on-failure",
    default=0.0,
    show_default=True,
    help="Reward of what could not be judged, where a protocol has no field for failures.",
)
@reward_options
def command(
    host: str,
    port: int,
    workers: int | None,
    token_file: Path | None,
    insecure: bool,
    run_code: bool,
    max_body_mb: int,
    gold_files: tuple[Path, ...],
    gold_tokenizer: str | None,
    on_failure: float,
    reward_files: tuple[str, ...],
    option_words: tuple[str, ...],
    options_file: Path | None,
    timeout_s: float | None,
) -> None:
    """Serve the registered rewards: POST /score, GET /rewards, /healthz, /readyz, /docs."""
    try:
        import uvicorn

        from rewardkit.server.app import create_app
        from rewardkit.server.gold import GoldIndex
    except ImportError as error:
        raise MissingDependencyError(f"{error}; install it with: pip install 'rewardkit[server]'") from None
    tokens = _read_tokens(token_file)
    if not tokens and not insecure and not _is_local(host):
        raise ConfigError(
            f"--host {host} is open to others; set --token-file, or --insecure if that is meant"
        )
    options = read_reward_options(reward_files, option_words, options_file)
    if not math.isfinite(on_failure):
        raise ConfigError(f"--on-failure must be a finite number, not {on_failure}")
    gold = GoldIndex(gold_files, tokenizer=gold_tokenizer) if gold_files else None
    if gold is not None:
        err.print(gold.report(), highlight=False)
    with ExitStack() as stack:
        scorer = stack.enter_context(Scorer(options=options, workers=workers, timeout_s=timeout_s))
        sandbox = stack.enter_context(Pool(scorer.workers)) if run_code else None
        app = create_app(
            scorer,
            tokens=tokens,
            max_body_bytes=max_body_mb << 20,
            sandbox=sandbox,
            gold=gold,
            on_failure=on_failure,
        )
        listening = _bind(host, port)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listening.getsockname()[1]}"
        err.print(f"rewardkit serves at {url} (docs: {url}/docs); stop it with Ctrl-C", highlight=False)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])


def _bind(host: str, port: int) -> socket.socket:
    """Bind before anything is said, so that the printed address is true."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port"
        ) from None
    return bound


def _read_tokens(token_file: Path | None) -> list[str]:
    from_env = os.environ.get("REWARDKIT_TOKEN")
    tokens = [from_env] if from_env else []
    if token_file is None:
        return tokens
    try:
        lines = token_file.read_text().split()
    except OSError as error:
        raise InputError(f"cannot read {token_file}: {error.strerror}") from None
    if not lines:
        raise InputError(f"{token_file} holds no token; put one on each line")
    return [*tokens, *lines]


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
