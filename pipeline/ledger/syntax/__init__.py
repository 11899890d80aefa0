"""SQL as DuckDB parses it: filters, what is run again, and columns that nothing reads."""
