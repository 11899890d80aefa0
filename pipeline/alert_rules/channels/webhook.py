"""A signed webhook, for programs (docs/alerts.md#webhooks)."""

from functools import partial
from pathlib import Path
from typing import Final

from pipeline.alert_rules.channels import Channel, Doubtful, Envelope, Readers
from pipeline.alert_rules.parts import Part
from pipeline.http.outgoing.mail_server import Mail
from pipeline.settings_files import PlainUrl
from pipeline.written import read_small


class _Keys(Part):
    webhook: PlainUrl | None = None
    webhook_secret_file: Path | None = None


class _Webhook(Channel[_Keys, bytes]):
    via = key = "webhook"
    place = 2
    keys = _Keys
    secrets = ("webhook_secret_file",)
    is_for_programs = True

    def unfit(self, recipient: _Keys) -> str | None:
        if (recipient.webhook is None) != (recipient.webhook_secret_file is None):
            return "webhook and webhook_secret_file go together"
        return None

    def readers(self, recipient: _Keys) -> Readers:
        secret = recipient.webhook_secret_file
        return {} if secret is None else {"webhook_secret_file": partial(_secrets, secret)}

    def send(self, content: bytes, recipient: _Keys, envelope: Envelope) -> None:
        from pipeline.http import standard_webhooks
        from pipeline.http.outgoing import asking

        assert recipient.webhook is not None
        assert recipient.webhook_secret_file is not None
        keys = _secrets(recipient.webhook_secret_file)
        headers = standard_webhooks.signed(keys, envelope.name.encode(), envelope.now, content)
        try:
            answer = asking.post(
                recipient.webhook,
                content,
                "application/json",
                {of.decode(): value.decode() for of, value in headers},
                is_body_needed=False,  # whatever it says besides, it has the message
            )
        except asking.Unanswered as error:
            raise Doubtful(str(error)) from error
        if not 200 <= answer.status < 300:
            raise ValueError(f"it answered {answer.status}")

    def leads(self, mail: Mail | None) -> str:
        return "its `webhook`"


def _secrets(path: Path) -> list[bytes]:
    from pipeline.http import standard_webhooks

    return standard_webhooks.secrets_in(read_small(path), path)


CHANNEL: Final = _Webhook()
