"""Commands on the way to an answered review."""
