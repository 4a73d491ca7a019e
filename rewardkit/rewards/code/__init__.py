"""Programs: taken out of a response, run in the sandbox, judged by tests."""
