"""The APIs of models: a client (`client`), what they answer (`answers`), and their failures (`failures`)."""
