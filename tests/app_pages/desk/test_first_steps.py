"""The Overview of an empty log leads to the first review, by an address and a command that work."""

import json
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from app_pages.desk import first_steps
from pipeline.settings import Settings
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text
from tests.support.receiver import receiver

SECRETS = {
    "none": "",
    "header": "s3cret\nnext\n",
    "basic": "ana:p@ss word\n",
    "hmac": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
}


@pytest.mark.parametrize("method", SECRETS)
def test_the_command_delivers_to_a_real_receiver_however_it_wants_it(
    method: str, tmp_path: Path
) -> None:
    if shutil.which("curl") is None or shutil.which("openssl") is None:
        pytest.skip("needs curl and openssl: apt-get install curl openssl")
    secret = tmp_path / "the secret"
    secret.write_text(SECRETS[method])
    options = {} if method == "none" else {"WEBHOOK_SECRET_FILE": str(secret)}
    with ExitStack() as stack:
        running = stack.enter_context(receiver(tmp_path, WEBHOOK_AUTH=method, **options))
        settings = Settings.load(
            webhook_auth=method,
            webhook_secret_file=secret if options else None,
            receiver_port=running.port,
        )
        done = subprocess.run(
            ["sh", "-c", first_steps.curl(settings)], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"seq": 1, "recorded": "new"}


def test_an_empty_log_says_what_is_left_to_do(open_log: OpenLog, visit: Visit) -> None:
    with open_log([], receiver_port=8499):
        shown = page_text(visit(as_of=None))
    assert "No review has come yet" in shown
    assert "0 of 5 steps are done." in shown
    assert "http://127.0.0.1:8499/webhooks" in shown
    assert "curl -sS http://127.0.0.1:8499/webhooks -d" in shown
    assert "Nothing has to be done today" not in shown


def test_a_step_that_is_done_counts(open_log: OpenLog, visit: Visit, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRETS["header"])
    with open_log([], webhook_auth="header", webhook_secret_file=secret):
        shown = page_text(visit(as_of=None))
    assert "1 of 5 steps is done." in shown
    assert f"X-Webhook-Secret: $(head -n 1 {secret})" in shown
    assert "s3cret" not in shown


def test_samples_fill_an_empty_log_and_are_not_offered_afterwards(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log([]) as service:
        app = visit(as_of=None)
        app.button(key="samples").click().run()
        assert not app.exception, app.exception
        assert service.inbox.last()[0] == 3
        assert "No review has come yet" not in page_text(app)


def test_no_list_is_content_before_anything_came(open_log: OpenLog, visit: Visit) -> None:
    contents = (
        "Nothing is in tolerance",
        "Nothing has to be done today",
        "No rule is broken",
        "Nothing is alarming",
    )
    pages = ("watchlist", "findings", "alerts")
    with open_log([]):
        for page in pages:
            shown = page_text(visit(page))
            assert "No review has come yet" in shown, page
            assert not [it for it in contents if it in shown], page
    with open_log([review("prc_new", before(hours=1), kind="ACP")]):
        for page in pages:
            assert "No review has come yet" not in page_text(visit(page)), page
