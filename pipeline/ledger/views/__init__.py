"""The views of `queries/`: what each is, its rows at an instant, and files of them."""
