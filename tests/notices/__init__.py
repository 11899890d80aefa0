"""Sellers are notified: by hand, by every channel, and by the schedule."""
