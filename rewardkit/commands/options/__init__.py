"""Options shared by several commands, and code that prints results. This package contains no commands."""
