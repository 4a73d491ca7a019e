"""Actor, reference and critic, which compute per-token values and take gradient steps."""
