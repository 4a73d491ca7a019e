"""Whether two answers are the same: as text, as numbers, as trees."""
