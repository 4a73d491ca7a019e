"""Entry point of a run, which reads and checks the config, starts the processes and trains.

It is used by the training commands, and by each process of `torchrun -m rewardkit.trainer.run.main key=value`
(with `--stage sft`, `rm` or `dpo` for stages other than PPO).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rewardkit.errors import RewardkitError
from rewardkit.http_addresses import public_text
from rewardkit.trainer.config.root import world_size
from rewardkit.trainer.distributed import started_by_torchrun
from rewardkit.trainer.run.launch import INTERRUPTED, die_with_launcher, launch
from rewardkit.trainer.run.process import STAGES, read_and_check, train_here


def run(recipe: str | None, overrides: Sequence[str], stage: str = "ppo") -> int:
    """Train with the given config, in this process or in new processes, and return the exit code.

    Raises:
        RewardkitError: The config, the data or the rewards cannot be used. Under torchrun, only the main
            process raises this error, so that it is printed once.
    """
    try:
        config = read_and_check(recipe, overrides, stage)
        several = world_size(config) > 1 or config.trainer.max_restarts or config.trainer.launcher == "ray"
        if several and not started_by_torchrun():
            return launch(config, recipe, overrides, stage)
        train_here(config, stage)
    except RewardkitError as error:
        if os.environ.get("RANK", "0") == "0":
            raise
        return error.exit_code
    except KeyboardInterrupt:
        if started_by_torchrun():
            return INTERRUPTED
        raise
    return 0


def main() -> None:
    """Parse the command line, train and exit. This is the program that torchrun starts in each process."""
    die_with_launcher()
    parser = argparse.ArgumentParser(prog="rewardkit.trainer.run.main")
    parser.add_argument("--config")
    parser.add_argument("--stage", choices=STAGES, default="ppo")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args()
    try:
        code = run(given.config, given.overrides, given.stage)
    except RewardkitError as error:
        print(f"error: {public_text(str(error))}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
