"""What several commands share: options, by what they are about, and how results are printed. No command."""
