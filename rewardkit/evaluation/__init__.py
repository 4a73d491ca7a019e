"""Figures of scored files: metrics with intervals, comparison, gradient, and the pages that show them."""
