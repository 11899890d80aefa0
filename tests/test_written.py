"""Files that people write are read however their editor saved them, or refused in words.

Excel saved the platform's bands with a byte order mark. The first band was then another text than
the one that sellers chose, so that a review with a deadline could not be answered; the same mark
broke `alerts.toml` and `forward.toml`, and `prazo doctor` said nothing.
"""

import ast
import base64
import hashlib
import json
from collections.abc import Callable
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pipeline import alert_rules, keys
from pipeline.audit.witness import cosigned
from pipeline.cli.doctor import platform
from pipeline.errors import OperatorError, SettingsError, Unreadable
from pipeline.forward import endpoints
from pipeline.http.outgoing import mails
from pipeline.http.outgoing.contexts import trusting
from pipeline.http.outgoing.headers import authorization, extra_headers
from pipeline.http.outgoing.mail_server import Mail
from pipeline.http.tokens import Tokens
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery
from pipeline.places import variables
from pipeline.receive.authenticity import Authenticator, Verified
from pipeline.serve import roles
from pipeline.settings import Settings
from pipeline.submit.decision import Terms, bands_in
from pipeline.written import in_utf_8, lines_in, read_small, text_in
from tests import depth
from tests.journey.served import served
from tests.support.commands import here
from tests.support.events import event
from tests.support.stores import environment_in, settings_in

MARK = b"\xef\xbb\xbf"
SAVED: dict[str, Callable[[str], bytes]] = {
    "as it is": str.encode,
    "Excel": lambda text: MARK + text.replace("\n", "\r\n").encode(),
    "Notepad": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "blanks": lambda text: text.replace("\n", " \t\n\n").encode(),
}
"""Who saves a text how."""


def test_a_text_is_read_without_what_its_editor_added() -> None:
    for save in SAVED.values():
        assert text_in(save("São\nJosé\n")).split() == ["São", "José"]
    assert text_in(b"a\rb\r\nc\x0b\xe2\x80\xa8") == "a\nb\nc\x0b\u2028"
    assert text_in(b"") == text_in(MARK) == text_in(b"\xff\xfe") == ""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a\r\nS\xe3o", "line 2 is not UTF-8: it holds the byte E3, as a file in Latin-1 or"),
        (b"a\n\n\x93b\x94", "line 3 is not UTF-8: it holds the byte 93"),
        ("abc".encode("utf-16-le"), "NUL characters, as UTF-16 without a mark"),
        (b"\xff\xfea", "it begins as UTF-16 and is not"),
    ],
)
def test_what_is_in_another_encoding_is_refused_with_its_line(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        text_in(data)


def test_lines_have_the_numbers_that_an_editor_shows() -> None:
    text = "a\r\n\r\n  # no\n\ufeffb \u2028c\t\n#"
    assert [*lines_in(text, has_comments=True)] == [(1, "a"), (4, "b \u2028c")]
    assert [*lines_in(text)] == [(1, "a"), (3, "# no"), (4, "b \u2028c"), (5, "#")]


def test_what_goes_out_byte_for_byte_loses_nothing_but_its_mark() -> None:
    assert in_utf_8(MARK + b'{\r\n"a": 1}\r\n') == b'{\r\n"a": 1}\r\n'
    assert in_utf_8('{"a": "é"}'.encode("utf-16")) == '{"a": "é"}'.encode()


# --- each file that a setting or a command names ---

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOKEN = hashlib.sha256(b"ours").hexdigest()
ALERTS = '[hours]\nstart = "09:00"\n'


def verdict(method: Any, headers: dict[bytes, bytes]) -> Callable[[Path], object]:
    def verified(path: Path) -> bool:
        found = Authenticator(method, path, header="x-webhook-secret", tolerance_seconds=300).check(
            b"{}", headers, 0
        )
        return isinstance(found, Verified)

    return verified


def forwards(path: Path) -> object:
    secret = path.with_name("secret")
    secret.write_bytes(MARK + f"{SECRET}\r\n".encode())
    return [it.name for it in endpoints.load(path)]


def policy_of(path: Path) -> object:
    return cosigned.read_policy(path).witnesses


READERS: dict[str, tuple[str, Callable[[Path], object], object]] = {
    "bands": (
        "# the platform's\n0_to_1000\n1000_to_5000\n",
        bands_in,
        frozenset({"0_to_1000", "1000_to_5000"}),
    ),
    "alerts": (ALERTS, lambda path: str(alert_rules.load(path).hours.start), "09:00:00"),
    "forward": (
        '[[endpoint]]\nname = "shop"\nurl = "https://a.example"\nsecret_file = "secret"\n',
        forwards,
        ["shop"],
    ),
    "tokens": (
        f"# ours\nshop:collect:{TOKEN}\n",
        lambda path: getattr(Tokens(path).by_token(b"ours"), "name", None),
        "shop",
    ),
    "roles": (
        "officer:groups:compliance\n",
        lambda path: roles.RoleMap(path).person({"sub": "a", "groups": ["compliance"]}) is not None,
        True,
    ),
    "proxy": ("one\ntwo\n", lambda path: roles.proxy_secrets(path).get(), [b"one", b"two"]),
    "header": ("first\nright\n", verdict("header", {b"x-webhook-secret": b"right"}), True),
    "basic": (
        "ana:right\n",
        verdict("basic", {b"authorization": b"Basic " + base64.b64encode(b"ana:right")}),
        True,
    ),
    "credentials": (
        "market:secret\n",
        lambda path: authorization(read_small(path), "basic", path),
        b"Basic " + base64.b64encode(b"market:secret"),
    ),
    "headers": (
        "# the gateway's\nx-key: abc\n",
        lambda path: extra_headers(read_small(path), path),
        [(b"x-key", b"abc")],
    ),
    "mail": (
        "pass word\n",
        lambda path: mails.password(
            Mail(host="a.example", sender="a@b.example", user="a", password_file=path)
        ),
        "pass word",
    ),
    "key": ("ab" * 32 + "\n", keys.read_key, b"\xab" * 32),
    "witnesses": ("# none\nquorum none\n", policy_of, {}),
}


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("name", READERS)
def test_each_file_of_the_settings_is_read_however_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, saved: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content, read, expected = READERS[name]
    path = tmp_path / "file"
    path.write_bytes(SAVED[saved](content))
    assert read(path) == expected


@pytest.mark.parametrize("name", READERS)
def test_each_file_of_the_settings_in_latin_1_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content, read, _ = READERS[name]
    path = tmp_path / "file"
    path.write_bytes(content.encode() + "# São\n".encode("latin-1"))
    with pytest.raises(OperatorError, match=rf"line {content.count(chr(10)) + 1} is not UTF-8"):
        read(path)


@pytest.mark.parametrize("saved", SAVED)
def test_the_env_file_is_read_however_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_bytes(SAVED[saved]("PRAZO_AUDIT_CONTACT=João\nPRAZO_RECEIVER_PORT=9001\n"))
    assert variables()["PRAZO_AUDIT_CONTACT"] == "João"
    assert Settings.load().receiver_port == 9001


@pytest.mark.parametrize("save", [SAVED["Excel"], SAVED["Notepad"]])
def test_what_another_program_reads_as_well_is_refused_with_a_mark(
    tmp_path: Path, save: Callable[[str], bytes]
) -> None:
    """OpenSSL passes over the first certificate of such a file, and Streamlit reads none of it."""
    path = tmp_path / "file"
    path.write_bytes(save('[auth]\ncookie_secret = "a"\n'))
    with pytest.raises(SettingsError, match=r"byte order mark of UTF-.*Streamlit"):
        roles.provider(path)
    path.write_bytes(save("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
    with pytest.raises(SettingsError, match="begins with a byte order mark of UTF-"):
        trusting(path)


# --- bands ---


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("0_to_1000\n1000-5000\n", "line 2 is '1000-5000'"),
        ("\n\nfaixa,1000_to_5000\n9_to_1\n", "line 3 is 'faixa,1000_to_5000'; line 4 is '9_to_1'"),
        ('"0_to_1000"\n', """line 1 is '"0_to_1000"'"""),
        ("0_to_\u200b1000\n", "line 1 is '0_to_\\\\u200b1000'"),
        ("\n# none\n", "it lists none"),
    ],
)
def test_bands_that_could_never_be_sent_are_refused_by_line_wherever_they_are_read(
    tmp_path: Path, lines: str, why: str
) -> None:
    path = tmp_path / "bands"
    path.write_text(lines)
    settings = settings_in(tmp_path, revenue_bands_file=path)
    with pytest.raises(SettingsError) as refused:
        Terms.of(settings)
    assert why in refused.value.why
    [bands, *_] = platform.platform(settings)
    assert (bands.check, bands.verdict) == ("revenue bands", "fault")
    assert why in bands.found
    page = environment_in(tmp_path) | {
        "PRAZO_JOURNEY_URL": "http://127.0.0.1:9",
        "PRAZO_REVENUE_BANDS_FILE": str(path),
    }
    started = here("journey", "run", environment=page, folder=tmp_path)
    assert (started.returncode, why in started.stderr) == (2, True)


def test_the_doctor_says_which_bands_are_known_also_without_a_platform(tmp_path: Path) -> None:
    path = tmp_path / "bands"
    path.write_bytes(SAVED["Excel"]("0_to_1000\n1000_to_5000\n"))
    [bands, *_] = platform.platform(settings_in(tmp_path, revenue_bands_file=path))
    assert (bands.verdict, bands.found) == ("ok", f"2 bands in {path}")


@pytest.mark.parametrize("saved", depth.few(["Excel", "Notepad"], 2))
def test_every_choice_that_the_sellers_page_offers_can_be_chosen_and_sent(
    tmp_path: Path, saved: str
) -> None:
    path = tmp_path / "bands"
    path.write_bytes(SAVED[saved]("0_to_1000\n1000_to_5000\n"))
    with served(tmp_path, PRAZO_REVENUE_BANDS_FILE=str(path)) as page:
        for band in ("0_to_1000", "1000_to_5000"):
            process = page.review(["revenue"])
            seller = page.seller()
            screen = seller.open(page.mint(process).url)
            assert f'value="{band}"' in unescape(screen.html)
            review = seller.answer(screen, f0=band)
            assert review.faults == []
            assert seller.confirm(review).slug == "receipt"
            [whole] = [it for _, it in page.collections(process) if it.get("is_whole")]
            assert whole["fields"]["revenue"] in Terms.of(page.settings()).bands


# --- files that a command is given ---


@pytest.mark.parametrize("saved", ["Excel", "Notepad"])
def test_a_collection_is_read_however_it_was_saved(tmp_path: Path, saved: str) -> None:
    file = tmp_path / "answered.json"
    said = {
        "process_id": "p1",
        "seller_id": "s1",
        "journey_id": "j1",
        "step": "answered",
        "channel": "phone",
        "source": "seller",
        "actor": "João",
        "occurred_at": "2026-03-01T00:00:00Z",
        "fields": {"revenue": "1000_to_5000"},
    }
    file.write_bytes(SAVED[saved](json.dumps(said, ensure_ascii=False, indent=1)))
    environment = environment_in(tmp_path)
    done = here("collect", str(file), environment=environment, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "new, entry 1\n"), done.stderr
    file.write_bytes(json.dumps(said, ensure_ascii=False).encode("latin-1"))
    refused = here("collect", str(file), environment=environment, folder=tmp_path)
    assert (refused.returncode, "line 1 is not UTF-8" in refused.stderr) == (1, True)


def test_lines_of_occurrences_are_taken_behind_a_mark_and_refused_in_utf_16(
    tmp_path: Path,
) -> None:
    line = json.dumps({"kind": "webhook", "occurred_at": "2026-03-01T00:00:00Z", "body": "%"})
    lines = line.replace('"%"', event().decode()) + "\n"
    file, environment = tmp_path / "past.ndjson", environment_in(tmp_path)
    file.write_bytes(SAVED["Excel"](lines + "\n") + MARK + b"\r\n")
    taken = here("ingest", str(file), environment=environment, folder=tmp_path)
    assert taken.returncode == 0, taken.stderr
    assert "1 recorded, 0 already there, 0 of them in quarantine, 0 bad" in taken.stdout
    file.write_bytes(SAVED["Notepad"](lines))
    refused = here("ingest", str(file), environment=environment, folder=tmp_path)
    assert (refused.returncode, "the lines are in UTF-16" in refused.stderr) == (2, True)
    file.write_bytes(lines.encode() + b'{"kind":"S\xe3o"}\n')
    partly = here("ingest", str(file), environment=environment, folder=tmp_path)
    assert (partly.returncode, f"{file}:2: not taken: not UTF-8" in partly.stderr) == (1, True)
    with closing(open_inbox(environment["PRAZO_INBOX"])) as inbox:
        assert inbox.last()[0] == 1


@pytest.mark.parametrize("saved", depth.few(["Excel", "Notepad"], 2))
def test_a_checkpoint_that_a_mail_program_saved_verifies(tmp_path: Path, saved: str) -> None:
    environment = environment_in(tmp_path)
    with closing(open_inbox(environment["PRAZO_INBOX"])) as inbox:
        inbox.append([delivery(event(), occurred_at=1, recorded_by="webhook")])
    here("show", "process_state", environment=environment, folder=tmp_path)
    note = here("checkpoint", environment=environment, folder=tmp_path).stdout
    kept = tmp_path / "kept.note"
    kept.write_bytes(SAVED[saved](note))
    verified = here("verify", "--against", str(kept), environment=environment, folder=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr


# --- no other way ---

OWN_WAY = {
    "pipeline/written.py",
    "pipeline/verify.py",  # stands alone in packages
}
"""Modules that may read a text of their own."""
OF_PROGRAMS = {
    "pipeline/audit/witness/service.py",  # what it wrote itself
    "pipeline/cli/ports.py",  # /proc
    "pipeline/http/holder.py",
    "pipeline/inbox/clock.py",  # /proc
    "pipeline/continuity/kept_heads.py",
    "pipeline/inbox/schema/__init__.py",
    "pipeline/journey/screens.py",
    "pipeline/ledger/views/catalogue.py",
    "pipeline/serve/api.py",  # a head
}
"""Modules that read texts that programs wrote, or that stand in the repository."""


def test_no_module_reads_a_text_of_a_person_in_another_way() -> None:
    found = set()
    for path in Path("pipeline").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "read_text":
                found.add(str(path))
    assert found <= OWN_WAY | OF_PROGRAMS
