"""Options that several commands share, by subject, and code that prints results. It contains no commands."""
