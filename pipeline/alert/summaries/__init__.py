"""What goes out at set hours: a day's digest, and reports (docs/alerts.md#digest)."""
