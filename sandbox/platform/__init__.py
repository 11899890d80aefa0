"""The simulated platform itself: its state, its judgement, its endpoints and its webhooks."""
