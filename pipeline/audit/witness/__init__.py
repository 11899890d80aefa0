"""Witnesses: who follows a log from outside and cosigns its checkpoints, and how they are asked."""
