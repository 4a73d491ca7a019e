"""`python -m rewardkit`: the command line."""

from rewardkit.cli import main

main()
