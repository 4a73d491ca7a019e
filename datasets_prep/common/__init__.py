"""Code shared by the datasets, such as the row schema, the writer, the readers and the verification."""
