"""What a security token service (STS) answers, in its own XML."""

from tests.unit.adapters.credentials.scripted_http import Answer

_SPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
_XML = {"Content-Type": "text/xml"}


def granted(action: str, key: str = "ASIA", end: str = "2027-01-15T08:00:00Z") -> Answer:
    """Temporary keys with marked secrets."""
    body = (
        f'<{action}Response xmlns="{_SPACE}"><{action}Result><Credentials>'
        f"<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>marked-secret</SecretAccessKey>"
        f"<SessionToken>marked-token</SessionToken><Expiration>{end}</Expiration>"
        f"</Credentials></{action}Result></{action}Response>"
    )
    return Answer(200, body, _XML)


def refused(status: int, code: str, message: str) -> Answer:
    """An error."""
    body = (
        f'<ErrorResponse xmlns="{_SPACE}"><Error><Type>Sender</Type><Code>{code}</Code>'
        f"<Message>{message}</Message></Error></ErrorResponse>"
    )
    return Answer(status, body, _XML)
