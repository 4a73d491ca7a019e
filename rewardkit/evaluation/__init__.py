"""Figures of scored files: metrics with intervals, comparisons, sources of the gradient, and HTML pages."""
