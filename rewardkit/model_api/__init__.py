"""The APIs of models: what they answer (`answers`), and what they send in place of an answer (`failures`)."""
