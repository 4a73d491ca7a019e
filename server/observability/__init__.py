"""Observability of a running server: probes, metrics, logs, traces, and recently scored samples."""
