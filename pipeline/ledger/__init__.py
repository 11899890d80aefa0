"""The DuckDB ledger: it follows the inbox, and the views of `queries/` are read from it."""
