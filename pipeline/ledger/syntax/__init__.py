"""Changes SQL through DuckDB's own syntax tree: which rows it reads, and which columns it names."""
