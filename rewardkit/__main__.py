"""Run the command line as `python -m rewardkit`."""

from rewardkit.cli import main

main()
