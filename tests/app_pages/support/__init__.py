"""What tests of pages share: histories by hand, and what a reader reads."""
