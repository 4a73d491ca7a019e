"""Code shared by the datasets, such as the row schema, the readers, the writer and solution checks."""
