"""Marks answers of our own, so that none passes for the platform's: by the contract its 404 means
that a process or seller is unknown."""

from typing import Final

from pipeline.http.asgi import Message, Send

MARK: Final = (b"prazo-answer", b"gateway")
RELAYED: Final = "prazo.relayed"
"""Key in the first message of an answer that is the platform's. Servers ignore it."""


def is_ours(message: Message) -> bool:
    """Whether a message begins an answer of our own."""
    return message["type"] == "http.response.start" and not message.get(RELAYED)


def marked(send: Send) -> Send:
    """Sends answers with the mark, but for those that are relayed."""

    async def send_marked(message: Message) -> None:
        if is_ours(message):
            message = {**message, "headers": [*message.get("headers", ()), MARK]}
        await send(message)

    return send_marked
