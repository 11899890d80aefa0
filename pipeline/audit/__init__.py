"""Proof for others: packages, receipts and timestamps."""
