"""The command that forgets a person."""
