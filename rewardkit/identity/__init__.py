"""Identities of rewards, which record everything that determines scores, and comparison of identities."""
