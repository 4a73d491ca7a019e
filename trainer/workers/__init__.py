"""The models at work: actor, reference, critic. They compute per-token quantities and take gradient steps."""
