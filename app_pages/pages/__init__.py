"""The pages: one script a file, whose name is its address."""
