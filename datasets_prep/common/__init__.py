"""Code shared by several datasets: the row schema, the writer, readers of raw files, checks of solutions."""
