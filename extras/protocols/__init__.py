"""Wire protocols of other trainers, registered as rows of the table `protocols`."""
