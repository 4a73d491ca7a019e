"""Extracts programs from responses, runs them in the sandbox and scores them with tests."""
