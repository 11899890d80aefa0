"""Serves rows and packages to others: the HTTP API, roles, and the client that commands use."""
