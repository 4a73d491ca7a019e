"""Programs: extracted from a response, run in the sandbox and scored by tests."""
