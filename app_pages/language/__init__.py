"""How pages speak: translations, words for codes, and formats of numbers and instants."""
