"""Sends sellers notices of their open reviews: by hand, and by a schedule."""
