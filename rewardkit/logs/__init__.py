"""Interpretation of the rows in other tools' logs: their responses, prompts and ground truths."""
