"""What people do with the rows that pages show: find, take on, note, remind, compare."""
