"""OpenAI-compatible endpoint for programs that play episodes. It records their turns token by token."""
