"""Options that several commands share, by subject, and code that prints results. There are no commands."""
