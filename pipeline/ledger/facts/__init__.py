"""Typed facts: what each entry says, column by column, as the views read it."""

from pipeline.ledger.facts.extraction import Keys, extract, facts_of
from pipeline.ledger.facts.rows import TABLES, Fact, recorded_name, schema

__all__ = ["TABLES", "Fact", "Keys", "extract", "facts_of", "recorded_name", "schema"]
