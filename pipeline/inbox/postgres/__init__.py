"""The inbox in a PostgreSQL database, for several machines."""
