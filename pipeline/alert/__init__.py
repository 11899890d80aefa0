"""Tells people in time, once, and proves that it did (docs/alerts.md)."""
