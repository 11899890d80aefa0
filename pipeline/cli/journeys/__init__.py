"""Commands about the seller's page."""
