"""Responses made from templates, each with what it must be paid: written before the rules they test."""
