"""How it goes over time: how good the forecast was, and one page that says it all."""
