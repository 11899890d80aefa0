"""Reviews that nobody sees to are assigned by rule."""
