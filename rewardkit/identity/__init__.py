"""Identity of a reward: everything that decides its scores, as files record it, and how two of them differ."""
