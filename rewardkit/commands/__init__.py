"""Commands of `rewardkit`, one module each. They parse options, call other packages and print the results."""
