"""Reading of files as chunks of rows, and atomic writing of files. `rewardkit.logs` interprets the rows."""
