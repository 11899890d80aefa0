"""What is in a package: its entries and how they are shown, tables, reports, and the bag."""
