"""What people read, in English and Brazilian Portuguese: one catalogue, and words for codes."""
