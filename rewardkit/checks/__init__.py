"""Checks of files with prompts.

`check_files` checks every row. `first_look` checks the first rows before training, generation and scoring. A
finding is an `error` (the row cannot be used), a `warning` (the row may be wrong) or a `note`.
"""
