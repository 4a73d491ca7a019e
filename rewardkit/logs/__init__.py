"""Interpretation of rows in logs from other tools: their responses, prompts and ground truths."""
