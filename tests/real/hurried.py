"""The real program with shorter waits; at wish it logs everything, or breaks inside botocore.

For tests that look at what is told, not at when: `python -m tests.real.hurried COMMAND …`.
"""

import os

import botocore.httpsession
from botocore.awsrequest import AWSPreparedRequest, AWSRequest, AWSResponse

from dispatch.adapters.s3 import connection, requests
from tests.real.ask_for_keys import log_everything


def hurry() -> None:
    """Wait less: a second try tells as much as a hundredth."""
    requests.OPERATION_S = 0.06
    requests.PAUSE_S = 0.01
    connection._READ_S = 1


def break_botocore() -> None:
    """Let each request break, with all that is being sent in words, frames and causes."""

    def send(_: object, request: AWSRequest | AWSPreparedRequest) -> AWSResponse:
        sent = f"{request.url} {dict(request.headers)}"
        cause = KeyError(sent)
        cause.add_note(sent)
        raise AssertionError(sent) from cause

    botocore.httpsession.URLLib3Session.send = send  # type: ignore[method-assign,assignment]  # to break it


def main() -> None:
    """Run the program."""
    hurry()
    if "DISPATCH_TEST_FAULT" in os.environ:
        break_botocore()
    if "DISPATCH_TEST_LOGS" in os.environ:
        log_everything()
    from dispatch.cli.publish.start import main as run

    run()


if __name__ == "__main__":
    main()
