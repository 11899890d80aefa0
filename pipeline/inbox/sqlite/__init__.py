"""The inbox in one SQLite file (WAL, `synchronous=FULL`), without a server to run."""
