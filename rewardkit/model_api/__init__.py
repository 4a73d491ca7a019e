"""APIs of models: a client (`client`), parsers for responses (`answers`), and error handling (`failures`)."""
