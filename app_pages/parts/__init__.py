"""What pages are put together from: the frame, rows of views, lists, forms, downloads and links."""
