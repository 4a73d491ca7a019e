"""Files as chunks of rows, and how a file appears whole or not at all: paths and formats, no meaning."""
