"""The receiver as a process of its own, over real sockets, with a real inbox."""
