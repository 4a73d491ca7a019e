"""Identity of a reward: all that decides its scores, as files record it, and how two of them differ."""
