"""Additional languages of the sandbox, registered as rows of the table `languages`."""
