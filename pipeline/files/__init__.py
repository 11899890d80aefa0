"""Handles files with care, whatever crash, full disk or other process comes between."""
