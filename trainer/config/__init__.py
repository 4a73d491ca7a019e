"""All settings of the trainer, typed and with verl's key names, and code to read and explain them."""
