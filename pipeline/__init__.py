"""Prazo's pipeline: from the platform's webhook to a row on a page, and from a payload to a PUT.

Each folder is a room of one of these flows; a room imports only from the rooms below it
(`.importlinter`). docs/architecture.md walks through both flows, file by file, and says what a
crash at each step means.
"""
