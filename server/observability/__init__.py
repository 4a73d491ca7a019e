"""Observation of a running server: probes, figures, logs, traces, and recently scored samples."""
