"""Says what one check of an installation found."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one check found, and what to do where it is not well."""

    check: str
    verdict: Verdict
    found: str
    remedy: str = ""
