"""An OpenAI-compatible endpoint for programs that play episodes; it records their turns token for token."""
