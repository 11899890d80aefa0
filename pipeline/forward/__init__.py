"""Passes the platform's deliveries on to the marketplace's own endpoints (docs/forwarding.md)."""
