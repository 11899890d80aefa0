"""Proof for others: packages and their verifier, backups, and audits of the stores."""
