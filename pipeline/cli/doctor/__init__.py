"""Checks an installation: settings, secrets and keys, authentication, tokens, login, the way to the
platform, disk, clock, inbox, artifacts, ledger. Each fault comes with a remedy.
"""

from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.doctor.examination import examine

__all__ = ["Diagnosis", "examine"]
