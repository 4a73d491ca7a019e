"""Where a response gives its answer (`place`), and one number as people write it (`number`)."""
