"""Decides what a package shows of each entry: its body or its commitment, its record or its digest,
its names or hashes.

A full package shows everything except what the exporter withholds. A masked one shows a body only
if nothing in it can be personal, and a record unless the mask hides something of it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pipeline.audit.package.masking import Masking
from pipeline.audit.package.screens import MAX_ENTRIES, Screen, screens_of
from pipeline.audit.package.tables import Stating
from pipeline.audit.request import Request
from pipeline.contract.body import parse_json
from pipeline.errors import CallerError
from pipeline.ledger.store import Ledger
from pipeline.log.artifacts import ArtifactDamaged, ArtifactStore, is_kept_here
from pipeline.log.entries import Entry, public_name
from pipeline.log.kinds import naming_artifacts
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.verify import BY_EXPORTER, BY_PROFILE, ERASED, EXTENSIONS, KEPT_ELSEWHERE

LOST: Final = frozenset({"damaged in the artifact store", "not in the artifact store"})
"""Why an artifact is left out that we should have."""


class Disclosure:
    """What one request shows."""

    def __init__(
        self,
        request: Request,
        log_key: bytes,
        events: Collection[str],
        others: Collection[str],
        journeys: Iterable[str],
    ) -> None:
        """`log_key`: the key with which the log's leaves hash identifiers that could be personal.
        `events`, `journeys`, `others`: all that entries of the package name; others are those of
        attempts, processes and sellers."""
        self._request = request
        self.replaced: dict[str, str] = {}
        """Identifier -> what stands for it in this package."""
        self.restored: dict[str, str] = {}
        """Hash in a leaf -> the identifier, if the package shows it."""
        self.without_record: set[int] = set()
        """Entries whose records are withheld, as far as they were read."""
        is_masked = request.profile == "masked"
        held = {*events, *others}  # by leaves
        self._masking = Masking(log_key, held) if is_masked else None
        for identifier in held:
            name = public_name(identifier, log_key)
            if name == identifier:
                continue
            # An event without an id is named by its body's digest, from which one could guess it.
            # A process or a seller with such a name has it from its body, which shows it.
            if is_masked or (identifier.startswith("sha256:") and identifier not in others):
                self.replaced[identifier] = name
            else:
                self.restored[name] = identifier
        if is_masked:
            self.replaced |= {it: self.new_word(it) for it in journeys}

    def new_name(self, identifier: str | None) -> str | None:
        """The name by which the package knows an identifier, of a bank account too."""
        if identifier is None or self._masking is None:
            return None if identifier is None else self.replaced.get(identifier, identifier)
        return self._masking.name(identifier)

    def new_word(self, text: str) -> str:
        """What stands for any other id, or for a word in the place of a code."""
        return text if self._masking is None else self._masking.word(text)

    def new_path(self, text: str) -> str:
        """The same for a path, or for a code that is written like one."""
        return text if self._masking is None else self._masking.path(text)

    def why_withheld(self, entry: Entry) -> str | None:
        """Why the body of an entry is left out; None where it is shown, or there is none.

        The rotations of the log's keys are always shown, since a verifier needs them.
        """
        if entry.body is None or entry.kind == KEY_ROTATION:
            return None
        if entry.is_erased:
            return ERASED
        if entry.seq in self._request.withhold:
            return BY_EXPORTER
        if self._masking is not None and not self._masking.is_impersonal(entry):
            return BY_PROFILE
        return None

    def take_records(self, batch: Sequence[Entry], stating: Stating) -> None:
        """Decides which records of these entries are left out: only the mask of what they say tells
        whether it hides something."""
        if self._masking is not None:
            self.without_record |= stating.hides_of_records(batch)

    def shown(self, entry: Entry) -> Entry:
        """The entry as the package shows it, once its record was taken."""
        is_withheld = self.why_withheld(entry) is not None
        return entry._replace(
            event_id=self.new_name(entry.event_id),
            attempt_id=self.new_name(entry.attempt_id),
            process_id=self.new_name(entry.process_id),
            seller_id=self.new_name(entry.seller_id),
            record=None if entry.seq in self.without_record else entry.record,
            body=None if is_withheld else entry.body,
            salt=None if is_withheld else entry.salt,
        )


def check_withheld(ledger: Ledger, request: Request) -> None:
    """Raises `CallerError` where a body that is to be left out is none of the package's: by a slip
    in its number, the one that was meant would be handed on."""
    if not request.withhold:
        return
    condition, values = request.scope.condition
    can_be = f"{condition} and body is not null and kind <> ? and seq in (select unnest(?))"
    asked = [*values, KEY_ROTATION, sorted(request.withhold)]
    if unknown := request.withhold.difference(ledger.seqs(can_be, asked)):
        raise CallerError(
            "The package was not made",
            f"nothing of entry {', '.join(map(str, sorted(unknown)))} can be left out: it is not of"
            " this scope, has no body, or replaces the log's key, which a verifier needs",
            "look up the entries whose bodies are to be left out, and name those",
        )


MOST_ARTIFACTS: Final = 100_000
"""In one package: a verifier reads neither a zip's directory nor a manifest of over 16 MiB."""


class Artifacts:
    """The artifacts that disclosed entries name, and those among them that are left out."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self.names: dict[str, str] = {}
        """Digest -> path in the package, once for each."""
        self.missing: dict[str, str] = {}
        """Digest -> why it is left out."""
        self.screens: dict[int, list[Screen]] = {}
        """By entry, those that the report names one by one."""

    def add(self, entry: Entry) -> None:
        """Takes up what an entry names, as the package shows it. Raises `CallerError` where it is
        more than a verifier reads."""
        if entry.kind not in naming_artifacts() or entry.body is None:
            return
        for artifact in parse_json(entry.body).get("artifacts") or ():
            digest = artifact.get("sha256")
            if digest is None:
                continue
            try:
                is_there = self._store.read(digest) is not None
            except ArtifactDamaged:
                self.missing[digest] = "damaged in the artifact store"
                continue
            if is_there:
                extension = EXTENSIONS.get(artifact.get("media_type"), "bin")
                self.names.setdefault(digest, f"data/artifacts/{digest}.{extension}")
            elif is_kept_here(artifact):
                self.missing[digest] = "not in the artifact store"
            else:
                self.missing.setdefault(digest, KEPT_ELSEWHERE)
        if len(self.names) + len(self.missing) > MOST_ARTIFACTS:
            raise CallerError(
                "The package was not made",
                f"its entries name more than {MOST_ARTIFACTS} artifacts, and no verifier reads a"
                " package of more",
                "export shorter periods, or one process or seller at a time",
            )
        if len(self.screens) < MAX_ENTRIES:
            found = screens_of(
                entry.body, self.names.get, lambda digest: self._store.read(digest) or b""
            )
            if found:
                self.screens[entry.seq] = found
