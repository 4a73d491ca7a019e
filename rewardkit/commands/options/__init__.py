"""Options that several commands share, by subject, and the printing of results. No command."""
