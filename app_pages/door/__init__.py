"""Who may come in: requests that are turned away, sessions, roles and security headers."""
