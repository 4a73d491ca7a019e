"""Wire protocols of other trainers: rows of the table `protocols`."""
