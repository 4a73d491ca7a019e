"""Responses judged by a model, behind an endpoint."""
