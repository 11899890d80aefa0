"""Draws views as Plotly figures, one subject per file; each takes rows and decides nothing."""
