"""A type of step of a plugin: sends a mail.

Which server it goes through is the operator's to say, in the environment: ACCORD_MAIL_HOST,
ACCORD_MAIL_PORT (25) and ACCORD_MAIL_FROM.
"""

from __future__ import annotations

import asyncio
import os
import smtplib
from email.message import EmailMessage
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.plugins import StepFailedError, StepTask, step_type

SECONDS: Final = 30.0

Address: TypeAlias = Annotated[str, Meta(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]
Subject: TypeAlias = Annotated[str, Meta(pattern=r"^[^\r\n]+$", max_length=200)]


class Sent(Struct):
    message_id: str


@step_type(concurrency=4)
async def mail(task: StepTask, *, to: Address, subject: Subject, text: str = "") -> Sent:
    """Send a mail to one person."""
    if not os.environ.get("ACCORD_MAIL_HOST"):
        raise StepFailedError("mail_not_set_up", "ACCORD_MAIL_HOST is not set")
    message = EmailMessage()
    message["From"] = os.environ.get("ACCORD_MAIL_FROM", "accord@localhost")
    message["To"], message["Subject"] = to, subject
    # The same for an attempt that is made again, by which it is known as the same mail.
    message["Message-ID"] = message_id = f"<{task.id}@accord>"
    message.set_content(text)
    await asyncio.to_thread(_send, message)
    return Sent(message_id)


def _send(message: EmailMessage) -> None:
    port = int(os.environ.get("ACCORD_MAIL_PORT", "25"))
    try:
        with smtplib.SMTP(os.environ["ACCORD_MAIL_HOST"], port, timeout=SECONDS) as server:
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        raise StepFailedError("recipient_refused", "the mail server refused the address") from error
