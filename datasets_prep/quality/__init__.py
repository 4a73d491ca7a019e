"""What leaves rows out of a dataset while it is prepared, and why: `screen` puts the stages together."""
