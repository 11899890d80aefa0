"""No name is taken for another's: neither one of the program's own, nor one that looks like it in
the letters of another script, or by what nobody sees.

A token named `local` was taken for this machine's commands, which may act in anybody's name; and a
name in letters of Cherokee or Lisu, or with a filler of Hangul, was somebody else's.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import lookalikes
from pipeline.errors import SettingsError, WrongUsage
from pipeline.http.tokens import Tokens
from pipeline.log.actions import action
from pipeline.log.kinds.ticket import ticket
from pipeline.names import OURS, folded, is_ours
from pipeline.serve.roles import RoleMap
from pipeline.texts import is_blank
from tests.names.lookalikes import lines

DIGEST = hashlib.sha256(b"a token").hexdigest()
FILLERS = ["\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"]
LOOK_LIKE_OURS = [
    *("local", "LOCAL", "Local ", "lосаl", "loc\u200bal", "ｌｏｃａｌ", "loopback", "receiver"),
    *("webhook", "journey", "dashboard", "alerts", "alert  link", "resume", "prazo", "user:root"),
    *("file:0123", "webhook:first", "forwarder", "dashbоard", "\u3164local", "receiver\u2800"),
]


@pytest.mark.parametrize("name", LOOK_LIKE_OURS)
def test_a_name_of_the_programs_own_is_nobody_elses(name: str, tmp_path: Path) -> None:
    """By a command or a page, by a login, by the header of a proxy."""
    assert is_ours(name)
    said = {"actor": name, "recorded_by": "user:ana"}
    with pytest.raises(WrongUsage, match="Prazo's own"):
        action("note", reason="a doubt", **said)
    with pytest.raises(WrongUsage, match="Prazo's own"):
        ticket("closed", process_id="p1", seller_id=None, **said)
    (tmp_path / "roles").write_text("admin:groups:all\n", encoding="utf-8")
    roles = RoleMap(tmp_path / "roles")
    assert roles.person({"sub": name, "groups": ["all"]}) is None
    assert roles.person({"email": name, "email_verified": True, "groups": ["all"]}) is None
    assert roles.person({"sub": "ana", "groups": ["all"]}) is not None


@pytest.mark.parametrize("name", sorted(it for it in OURS if " " not in it))
def test_a_token_of_such_a_name_is_refused(name: str, tmp_path: Path) -> None:
    for spelled in (name, name.upper()):
        (tmp_path / "tokens").write_text(f"ana:read:{DIGEST}\n{spelled}:read:{DIGEST}\n")
        with pytest.raises(SettingsError, match=r"Line 2.*is a token of the name"):
            Tokens(tmp_path / "tokens")


@pytest.mark.parametrize("name", ["ana", "Locale", "local-shop", "receivers", "Dash Board", "Юра"])
def test_any_other_name_is_as_good_as_before(name: str) -> None:
    assert not is_ours(name)
    assert action("note", reason="a doubt", actor=name, recorded_by="user:ana").kind == "note"


@pytest.mark.parametrize("filler", FILLERS)
def test_what_looks_like_a_blank_makes_no_name_and_no_other_name(filler: str) -> None:
    assert is_blank(filler * 3)
    assert folded(filler) == ""
    assert folded(f"Ana{filler}") == folded("Ana")
    assert folded(f"An{filler}a") == ""  # a blank in some fonts, and nothing in others
    with pytest.raises(WrongUsage, match="a name"):
        action("note", reason="a doubt", actor=filler, recorded_by="user:ana")
    with pytest.raises(WrongUsage, match="a reason"):
        action("note", reason=filler, actor="ana", recorded_by="user:ana")


# By hand, from how they look in print.
@pytest.mark.parametrize(
    ("name", "is_as"),
    [
        ("ᎪNA", "ana"),  # Cherokee
        ("ꓐOB", "bob"),  # Lisu
        ("Bօb", "bob"),  # Armenian
        ("Bⲟb", "bob"),  # Coptic
        ("Bסb", "bob"),  # Hebrew
        ("Bഠb", "bob"),  # Malayalam
        ("ꓮꓠꓮ", "ana"),  # all of it in Lisu
        ("ɑnɑ", "ana"),  # Latin letters of phonetics
    ],
)
def test_a_letter_of_any_script_that_looks_like_a_latin_one_is_that_one(
    name: str, is_as: str
) -> None:
    assert folded(name) in (is_as, "")
    assert folded(name) != ""


def test_what_may_be_an_i_or_an_l_reads_in_two_ways() -> None:
    """So nobody can ask for something, or approve it, under such a name."""
    assert folded("Ca\ua4f2la") == folded("\u01c0van") == ""


@pytest.mark.parametrize(
    "name", ["山田さん", "Արամ", "דוד לוי", "محمد", "Юрий", "Ганна", "Νίκος", "สมชาย", "김민준"]
)
def test_names_of_other_scripts_stay_names(name: str) -> None:
    assert folded(name) != ""
    assert folded(name) == folded(f" {name} ")


def test_the_table_is_made_of_a_file_of_unicode_by_its_path(tmp_path: Path) -> None:
    table = (
        "\ufeff# confusables.txt\n# Version: 99.0.0\n\n"
        "0430 ;\t0061 ;\tMA\t# CYRILLIC SMALL LETTER A\n"
        "A4F2 ;\t006C ;\tMA\t# LISU LETTER I\n"
        "FF41 ;\t0061 ;\tMA\t# taken apart by Unicode's forms\n"
        "0031 ;\t006C ;\tMA\t# ASCII\n"
        "042E ;\t006C 004F ;\tMA\t# two letters of an alphabet in which people have names\n"
        "05AD ;\t0596 ;\tMA\t# no Latin letter\n"
    )
    (tmp_path / "confusables.txt").write_text(table, encoding="utf-8")
    command = [sys.executable, "-m", "tests.names.lookalikes", str(tmp_path / "confusables.txt")]
    root = Path(__file__).parents[2]
    made = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert made.splitlines() == [*lines(table)]
    module: dict[str, object] = {}
    exec(made, module)
    assert module["VERSION"] == "99.0.0"
    assert module["LETTERS"] == {"а": "a", "ꓲ": "l"}
    assert module["OF_TWO"] == {"ꓲ"}


def test_the_table_in_use_names_its_version_and_is_more_than_greek_and_cyrillic() -> None:
    assert lookalikes.VERSION == "13.0.0"
    assert lookalikes.LETTERS["Ꭺ"] == "A"
    assert len(lookalikes.LETTERS) > 300
