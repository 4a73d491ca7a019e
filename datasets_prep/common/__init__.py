"""What several datasets need: the row schema, the writer, reading raw files, checking solutions."""
