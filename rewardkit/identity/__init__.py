"""Identities of rewards, which record everything that decides their scores, and comparison of identities."""
