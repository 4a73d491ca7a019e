"""What is seen of a running server: probes, figures, logs, traces, and what was scored lately."""
