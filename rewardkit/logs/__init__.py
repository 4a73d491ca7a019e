"""What the rows of other tools' logs mean: which row is a response, to what, with which ground truth."""
