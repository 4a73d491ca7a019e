"""Interpretation of the rows of other tools' logs: their responses, prompts and ground truths."""
