"""Forgets a person: erases what came of a seller, and keeps what proves the rest."""
