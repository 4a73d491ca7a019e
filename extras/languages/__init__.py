"""Languages of the sandbox: rows of the table `languages`."""
