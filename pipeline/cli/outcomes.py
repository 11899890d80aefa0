"""Says what became of submissions, and with which exit code their command ends."""

from typing import TYPE_CHECKING, Final

from pipeline import instants
from pipeline.cli.group import say
from pipeline.settings import Settings
from pipeline.texts import typed

if TYPE_CHECKING:
    from pipeline.submit.attempt import Result, Sent
    from pipeline.submit.decision import Busy, Go, NotDue, Refused
    from pipeline.submit.resume import Ended
    from pipeline.submit.rules import Violation

DONE, ANSWERED_NO, NOT_REACHED = 0, 1, 3

FINAL_ANSWERS: Final = {
    "invalid_payload": (
        "the platform found the payload invalid: a field is missing, has a wrong format or a value"
        " outside the rules",
        "fix the payload and submit it again; the platform's answer stands on the process's page",
    ),
    "unauthorized": (
        "the platform did not authenticate us: the credentials or the mTLS set-up are wrong",
        "check both with `prazo doctor --platform`, then {resume}",
    ),
    "not_found": (
        "the platform does not know this process, or not for this seller",
        "compare the ids with the webhook: {show}",
    ),
    "conflict": (
        "the process is concluded already, or its state allows no submission",
        "check its status before sending again: {show}",
    ),
    "unexpected_status": (
        "the platform answered with a status that the contract does not show",
        "read its answer on the process's page before sending again",
    ),
}
"""Of each final answer but 200: what it means, and what to do (docs/contract.md#errors)."""


def _commands(process: str) -> dict[str, str]:
    """What `FINAL_ANSWERS` and others name: commands about one process."""
    return {
        "resume": typed("prazo", "resume", "--process", process),
        "show": typed("prazo", "show", "process_state", "--where", f"process_id={process}"),
    }


def what_to_do(outcome: str, process: str) -> tuple[str, str]:
    """Of a final answer: what it means, and what to do."""
    why, action = FINAL_ANSWERS[outcome]
    return why, action.format(**_commands(process))


CERTIFICATE_WORDS: Final = {
    "not_asked": "the platform did not ask for our client certificate: this was not mutual TLS",
    "withheld": "the platform asked for a client certificate that ours is not, so it got none",
}
"""What a person should know of a call without our certificate, whatever was answered."""


def say_what_would_happen(
    settings: Settings, process: str, decision: "Go | Refused | Busy | NotDue"
) -> int:
    """Says what was decided of a submission that is not sent, and the exit code."""
    from pipeline.submit.decision import Busy, Go, Refused

    match decision:
        case Go(warnings=warnings, overridden_gates=gates):
            _print_violations(warnings, "warning")
            if gates and "override" in settings.acts_of_two:
                say(f"{process}: would wait for a second person")
            else:
                say(f"{process}: would be sent")
            return DONE
        case Refused(violations=violations):
            _print_violations(violations, "refused")
            say(f"{process}: would be refused", err=True)
        case Busy(until=until):
            say(f"{process}: {busy(until)}", err=True)
    return ANSWERED_NO


def print_result(process_id: str, result: "Result") -> None:
    """Says what came of one attempt, as soon as it is known."""
    from pipeline.submit.attempt import Sent
    from pipeline.submit.decision import Refused

    match result:
        case Sent(answer=answer):
            _print_violations(result.warnings, "warning")
            shown = result.outcome if answer.status is None else f"{answer.status} {result.outcome}"
            say(f"{process_id}: {result.attempt_id}: {shown}")
            if answer.certificate in CERTIFICATE_WORDS:
                say(f"{process_id}: {CERTIFICATE_WORDS[answer.certificate]}", err=True)
            if (location := answer.header("location")) is not None:
                said = "it leads elsewhere, where nothing is sent"
                say(f"{process_id}: {said}: {location}", err=True)
            if answer.is_truncated or (answer.status is None and answer.detail):
                say(f"{process_id}: {answer.detail}", err=True)
            if answer.remedy:
                say(f"  To fix it: {answer.remedy}", err=True)
            if not result.is_recorded:
                waits = "the answer is not in the log yet; it is tried until this command ends"
                say(f"{process_id}: {waits}", err=True)
        case Refused(violations=violations):
            _print_violations(violations, "refused")


def log_result(process_id: str, result: "Result") -> None:
    """Ids and outcomes alone: text logs hold nothing personal."""
    import logging

    from pipeline.submit.attempt import Sent

    shown = result.outcome if isinstance(result, Sent) else "refused"
    logging.getLogger(__name__).info("retry of %s: %s", process_id, shown)


def _print_violations(violations: "tuple[Violation, ...]", kind: str) -> None:
    for violation in violations:
        say(f"{kind}: {violation}", err=True)


def conclude(process: str, ended: "Ended", settings: Settings) -> int:
    """Says what follows, and the exit code."""
    from pipeline.submit.attempt import Sent
    from pipeline.submit.decision import Refused
    from pipeline.submit.retries import GivenUp, UnderWay, Waiting

    result = ended.result
    if isinstance(result, Refused):
        say(f"{process}: refused; nothing was sent", err=True)
        return ANSWERED_NO
    is_conflict = isinstance(result, Sent) and result.outcome == "conflict"
    if ended.is_finished and not is_conflict:
        say(f"{process}: FINISHED")
        return DONE
    match result, ended.standing:
        case Sent(is_recorded=False, answer=answer), UnderWay() | Waiting() if answer.status:
            _say_what_is_unrecorded(process, result)
            return NOT_REACHED
        case _, Waiting(tried=tried, due_at=int(due_at)):
            _say_what_waits(process, tried.last.outcome, due_at, settings)
            return NOT_REACHED
        case _, Waiting(due_at=None):
            say(
                f"{process}: our rules now refuse what waits to be sent again, or it was erased:"
                " correct what they name and resume it, or submit another payload with --replace",
                err=True,
            )
            return ANSWERED_NO
        case _, GivenUp():
            say(
                f"{process}: given up after 24 hours or 30 attempts: open a support ticket",
                err=True,
            )
            return NOT_REACHED
    _say_what_to_do(process, result)
    return ANSWERED_NO


def _say_what_is_unrecorded(process: str, sent: "Sent") -> None:
    """The platform has answered, and the log does not show it."""
    say(
        f"{process}: the platform answered {sent.answer.status} {sent.outcome}, and the log may not"
        " have that answer",
        "  To fix it: let the inbox be written again, such as by room on its disk;"
        f" {_commands(process)['resume']} then sends the same bytes, if need be",
        err=True,
    )


def _say_what_waits(process: str, outcome: str, due_at: int, settings: Settings) -> None:
    """A retry is due later. `outcome`: of the last attempt."""
    from pipeline.submit.platform import TLS_REFUSED

    if outcome == TLS_REFUSED:
        from pipeline.http.certificates import what_ended

        say(
            f"{process}: the TLS handshake failed, so the platform has processed nothing"
            f"{what_ended(settings.client_cert_file)}",
            "  To fix it: check the certificates with `prazo doctor --platform`",
            err=True,
        )
    say(
        f"{process}: not answered yet; the next retry is due {instants.readable(due_at)}."
        " `prazo serve` or `prazo resume` sends it",
        err=True,
    )


def _say_what_to_do(process: str, result: "Result") -> None:
    """Nothing is sent again by itself."""
    from pipeline.submit.attempt import Sent
    from pipeline.submit.decision import Busy, NotDue

    match result:
        case Busy(until=until):
            say(f"{process}: {busy(until)}", err=True)
        case Sent(outcome=outcome) if outcome in FINAL_ANSWERS:
            why, action = what_to_do(outcome, process)
            say(
                f"{process}: {why}",
                f"  To fix it: {action}",
                err=True,
            )
        case NotDue():
            say(f"{process}: nothing waits to be sent again", err=True)


def busy(until: int) -> str:
    """That nothing more is done now. `until`: in microseconds."""
    return f"another attempt is under way, until {instants.readable(until)} at the latest"
