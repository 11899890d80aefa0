"""Whether a delivery is the platform's: the form that the settings name, every secret, any time."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from pipeline.instants import SECOND
from pipeline.receive.authenticity import Authenticator, Method, Refused, Verified

# The example that the Standard Webhooks libraries are tested with.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
SENT_AT = 1_614_265_330 * SECOND
SIGNATURE = b"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
SIGNED = {
    b"webhook-id": b"msg_p5jXN8AQM9LWM0D4loKWxJek",
    b"webhook-timestamp": b"1614265330",
    b"webhook-signature": SIGNATURE,
}
MISMATCH = Refused("the signature does not match")
TOO_FAR = Refused("webhook-timestamp is too far from our clock")
INCOMPLETE = Refused("webhook-id, webhook-timestamp or webhook-signature is missing")


def _authenticator(tmp_path: Path, method: Method, secrets: str) -> Authenticator:
    file = tmp_path / "secrets"
    file.write_text(secrets, encoding="utf-8")
    return Authenticator(method, file, header="X-Key", tolerance_seconds=300)


@pytest.fixture
def signatures(tmp_path: Path) -> Authenticator:
    return _authenticator(tmp_path, "hmac", SECRET)


# --- hmac ---


def test_the_published_example_is_verified(signatures: Authenticator):
    assert signatures.check(BODY, SIGNED, SENT_AT) == Verified("hmac", 1)


def test_the_secret_may_stand_without_its_prefix(tmp_path: Path):
    bare = _authenticator(tmp_path, "hmac", SECRET.removeprefix("whsec_"))
    assert bare.check(BODY, SIGNED, SENT_AT) == Verified("hmac", 1)


@pytest.mark.parametrize(
    "given",
    [
        b"v1,AAAA " + SIGNATURE,
        SIGNATURE + b" v1,AAAA",
        b"v2,AAAA v1a,AAAA  " + SIGNATURE,
        b" ".join([b"v1,AAAA"] * 7 + [SIGNATURE]),
        b" ".join([b"v0,AAAA"] * 50 + [SIGNATURE]),
    ],
)
def test_one_of_several_signatures_is_enough(signatures: Authenticator, given: bytes):
    headers = {**SIGNED, b"webhook-signature": given}
    assert signatures.check(BODY, headers, SENT_AT) == Verified("hmac", 1)


@pytest.mark.parametrize(
    "given",
    [
        b"v1",
        b"v1,",
        b"v1, ",
        SIGNATURE.removeprefix(b"v1,"),
        SIGNATURE.replace(b"v1,", b"v2,"),
        SIGNATURE.replace(b"v1,", b"v1a,"),
        SIGNATURE.replace(b"v1,", b"V1,"),
        SIGNATURE[:-1],
        SIGNATURE + b"=",
        SIGNATURE.lower(),
        SIGNATURE + b"," + SIGNATURE,
        b" ".join([b"v1,AAAA"] * 8 + [SIGNATURE]),
        b"v1,\xff",
    ],
)
def test_anything_else_is_not_a_signature(signatures: Authenticator, given: bytes):
    headers = {**SIGNED, b"webhook-signature": given}
    assert signatures.check(BODY, headers, SENT_AT) == MISMATCH


@pytest.mark.parametrize(
    ("changed", "body"),
    [
        ({b"webhook-id": b"msg_p5jXN8AQM9LWM0D4loKWxJel"}, BODY),
        ({b"webhook-timestamp": b"1614265331"}, BODY),
        ({}, BODY + b" "),
        ({}, b""),
    ],
    ids=["id", "timestamp", "body", "no body"],
)
def test_the_signature_covers_id_timestamp_and_body(
    signatures: Authenticator, changed: dict[bytes, bytes], body: bytes
):
    assert signatures.check(body, SIGNED | changed, SENT_AT) == MISMATCH


@pytest.mark.parametrize("header", list(SIGNED))
@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "missing"])
def test_every_header_of_a_signature_is_needed(
    signatures: Authenticator, header: bytes, is_there: bool
):
    headers = {name: it for name, it in SIGNED.items() if name != header}
    if is_there:
        headers[header] = b""
    assert signatures.check(BODY, headers, SENT_AT) == INCOMPLETE


@pytest.mark.parametrize("seconds", [-300, -1, 0, 1, 300])
def test_a_signature_is_good_for_five_minutes_either_way(signatures: Authenticator, seconds: int):
    now = SENT_AT + seconds * SECOND
    assert signatures.check(BODY, SIGNED, now) == Verified("hmac", 1)


@pytest.mark.parametrize("microseconds", [-300_000_001, 300_000_001, -(10**15), 10**15])
def test_an_older_or_newer_one_is_refused(signatures: Authenticator, microseconds: int):
    assert signatures.check(BODY, SIGNED, SENT_AT + microseconds) == TOO_FAR


@pytest.mark.parametrize(
    "timestamp", [b"now", b"-1614265330", b"1614265330.0", b"+1614265330", b"1" * 13, b"1e9", b" 1"]
)
def test_a_timestamp_is_whole_seconds(signatures: Authenticator, timestamp: bytes):
    headers = {**SIGNED, b"webhook-timestamp": timestamp}
    verdict = signatures.check(BODY, headers, SENT_AT)
    assert verdict == Refused("webhook-timestamp is not whole seconds since the epoch")


def test_each_secret_of_the_file_is_good_and_named_by_its_line(tmp_path: Path):
    other = base64.b64encode(b"another secret, being rotated").decode()
    both = _authenticator(tmp_path, "hmac", f"whsec_{other}\n\n{SECRET}\n")
    assert both.check(BODY, SIGNED, SENT_AT) == Verified("hmac", 2)


# --- header ---


def test_the_header_must_hold_one_of_the_secrets(tmp_path: Path):
    header = _authenticator(tmp_path, "header", "first secret\r\n  second\tsecret  \nterceiro é\n")
    for shown, line in ((b"first secret", 1), (b"second\tsecret", 2), ("terceiro é".encode(), 3)):
        assert header.check(b"", {b"x-key": shown}, 0) == Verified("header", line)
    for wrong in (b"", b"first", b"first secret ", b"FIRST SECRET", b"first secret\nsecond"):
        assert header.check(b"", {b"x-key": wrong}, 0) == Refused("the secret does not match")
    assert header.check(b"", {b"x-other": b"first secret"}, 0) == Refused("the secret is missing")


# --- basic ---


def test_user_and_password_must_be_one_of_the_pairs(tmp_path: Path):
    basic = _authenticator(tmp_path, "basic", "ana:one\nrui:two:three\n")

    def verdict(authorization: bytes) -> object:
        return basic.check(b"", {b"authorization": authorization}, 0)

    assert verdict(b"Basic YW5hOm9uZQ==") == Verified("basic", 1)
    assert verdict(b"basic cnVpOnR3bzp0aHJlZQ==") == Verified("basic", 2)
    assert verdict(b"Basic YW5hOnR3bw==") == Refused("the secret does not match")
    assert verdict(b"Basic YW5hOm9uZQ") == Refused("the Basic credentials are not base64")
    assert verdict(b"Basic \xff") == Refused("the Basic credentials are not base64")
    assert verdict(b"Bearer YW5hOm9uZQ==") == Refused("no Basic credentials")
    assert basic.check(b"", {}, 0) == Refused("no Basic credentials")
    assert basic.challenge == ((b"www-authenticate", b'Basic realm="webhooks"'),)


# --- none ---


def test_without_authentication_everything_is_taken():
    assert Authenticator("none").check(b"", {}, 0) == Verified("none", None)


# --- secrets that would let anyone in ---


@pytest.mark.parametrize(
    ("method", "secrets", "why"),
    [
        ("header", "", "the file is empty"),
        ("header", "\n  \n\t\n", "the file is empty"),
        ("basic", "\n", "the file is empty"),
        ("basic", "ana\n", "a line has no password: line 1"),
        ("basic", "ana:one\r\n\r\nrui:\r\n", "a line has no password: line 3"),
        ("basic", ":\n", "a line has no password: line 1"),
        ("hmac", "\n", "the file is empty"),
        ("hmac", "whsec_\n", "an hmac secret is not base64: line 1"),
        ("hmac", "whsec_ab!\n", "an hmac secret is not base64: line 1"),
        ("hmac", "ção\n", "an hmac secret is not base64: line 1"),
        ("hmac", f"{SECRET}\nplain text\n", "an hmac secret is not base64: line 2"),
    ],
)
def test_secrets_that_cannot_be_used_are_refused_at_the_start(
    tmp_path: Path, method: Method, secrets: str, why: str
):
    with pytest.raises(SettingsError) as refused:
        _authenticator(tmp_path, method, secrets)
    assert refused.value.why == why
    assert refused.value.remedy


# --- anything at all ---


@given(
    method=st.sampled_from(["header", "basic", "hmac"]),
    body=st.binary(max_size=50),
    headers=st.dictionaries(
        st.sampled_from([b"x-key", b"authorization", *SIGNED]),
        st.binary(max_size=30) | st.sampled_from([b"Basic ", b"Basic a", b"v1,", b"9" * 12]),
    ),
    now=st.integers(0, 2**62),
)
def test_no_headers_make_it_fail_or_let_a_stranger_in(
    tmp_path_factory: pytest.TempPathFactory,
    method: Method,
    body: bytes,
    headers: dict[bytes, bytes],
    now: int,
):
    secrets = {"header": "a long secret that nobody guesses", "basic": "ana:one", "hmac": SECRET}
    place = tmp_path_factory.mktemp("any")
    authenticator = _authenticator(place, method, secrets[method])
    assert isinstance(authenticator.check(body, headers, now), Refused)
