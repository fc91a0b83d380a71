"""What can go wrong with calls of S3, as a table: each row with marked secrets on the way.

Every secret has the word "marked" in it, and servers repeat whatever they were sent.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dispatch.adapters.s3.answers import BY_CODE
from dispatch.adapters.s3.answers import Answer as Meaning
from dispatch.testing.s3fake import (
    Drip,
    KeepKeys,
    Keys,
    LoseReply,
    LoseToken,
    Refuse,
    RepeatToken,
    Request,
    Reset,
    S3Fake,
    Say,
)
from tests.cli.program import ATTEMPT, EPOCH
from tests.cli.roots import entry_name
from tests.servers.certificates import Certificates
from tests.unit.adapters.credentials.scripted_http import (
    Answer,
    Asked,
    ScriptedServer,
    closed_port,
    scripted_server,
    silent_server,
)
from tests.unit.adapters.credentials.sts import granted, refused

BUCKET, ROOT = "runs", "s3://runs/job"
SAVES = f"exec/{ATTEMPT}"
SECRET, TOKEN = "markedsecret0123456789", "markedtoken0123456789"  # letters and digits: a code's
JWT = "marked-header.marked-payload.marked-signature"
KEYS = Keys("ASIA", SECRET, TOKEN)
OTHERS = Keys("ASIB", f"{SECRET}-other", f"{TOKEN}-other")
ROLE = "arn:aws:iam::123456789012:role/job"
STEPS = (1, 2, 3)
"""The saves; the first two are published."""

ALL = "resolve", "publish", "log", "retract", "watch", "prune", "probe", "claim", "run"
"""The operations of a log, in an order in which each has something to do."""

BY_REQUEST = {
    "ListObjectsV2": ALL,
    "HeadObject": ("retract",),
    "GetObject": ("watch",),
    "PutObject": ("publish", "watch", "claim", "run"),
    "DeleteObject": ("retract", "prune"),
    "DeleteObjects": ("prune",),
}
"""Which operations to meet at which of their requests."""

AT_ANY = {"": ALL}
"""Each operation at its first request."""


def told(request: Request) -> str:
    """Give all of a request back, as services' errors do at their worst."""
    return f"{request.method} {request.path} {dict(request.query)} {dict(request.headers)}"


def echo(status: int, code: str = "") -> Callable[[Request], Refuse]:
    """Refuse with everything that was sent, in the body and in a header; nothing can be both."""
    return lambda request: Refuse(status, code, told(request), {"x-amz-told": told(request)})


def echo_page(status: int, start: str = "<html>") -> Callable[[Request], Say]:
    """Answer as a proxy may."""
    return lambda request: Say(status, f"{start}{told(request)}".encode())


Scripted = (
    Callable[[Request], Refuse | Say]
    | Refuse
    | Say
    | Reset
    | LoseReply
    | Drip
    | KeepKeys
    | LoseToken
    | RepeatToken
)


@dataclass
class Scene:
    """A root on a fake, where the keys come from, and what is different in it.

    Attributes:
        fake: The store.
        folder: For files.
        keys_from: What gives keys: STS, a Vault, a container's service.
        options: Of `dispatch.checkpoint.open_store`, and flags of the program.
        creds: The sources of keys.
        variables: The environment.
        root: The checkpoint root.
        at: Which requests of S3 go wrong where that can be chosen; empty for all.
        stack: What ends with the scene.
        certificates: For https.
    """

    fake: S3Fake
    folder: Path
    keys_from: ScriptedServer
    stack: ExitStack
    certificates: Certificates
    options: dict[str, str] = field(default_factory=dict)
    creds: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    root: str = ROOT
    at: str = ""

    def script(self, fault: Scripted) -> None:
        """Let what is chosen go wrong, now and later."""
        self.fake.script(fault, lambda request: self.at in {"", request.operation}, times=None)

    def fill(self) -> None:
        """Put saves and publications, and nothing else."""
        for key in self.fake.names(BUCKET):
            self.fake.remove(BUCKET, key)
        for step in STEPS:
            save = f"job/{SAVES}/checkpoint-{step}"
            self.fake.put(BUCKET, f"{save}/model.safetensors", b"x")
            state = b'{"global_step": %d}' % step
            self.fake.put(BUCKET, f"{save}/trainer_state.json", state)
        for step in STEPS[:-1]:
            self.fake.put(BUCKET, f"job/pub/{name_of(step)}")

    def write(self, name: str, content: str) -> str:
        """Write a file."""
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    def flags(self) -> list[str]:
        """Give the options as a command line has them."""
        given = {**self.options, "creds": " ".join(self.creds)}
        return [part for k, v in given.items() for part in (f"-{k.replace('_', '-')}", v)]


def name_of(step: int) -> str:
    """Name the publication of a save."""
    return entry_name(EPOCH, step, f"{SAVES}/checkpoint-{step}")


# ------------------------------------------------------------------------------- sources of keys


def document(keys: Keys) -> dict[str, str]:
    """Give keys as a file, or a Vault's secret, has them."""
    return {
        "access_key_id": keys.access_key_id,
        "secret_access_key": keys.secret_access_key,
        "session_token": keys.session_token or "",
    }


def from_env(scene: Scene) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    scene.variables |= dict(zip(names, document(KEYS).values(), strict=True))
    scene.creds = ["env"]


def from_file(scene: Scene) -> None:
    scene.creds = [f"file:{scene.write('keys', json.dumps(document(KEYS)))}"]


def from_vault(scene: Scene, *, by_role_id: bool = True) -> None:
    login = Answer(200, {"auth": {"client_token": "marked-vault-token", "lease_duration": 60}})
    data = {"data": document(KEYS), "metadata": {"version": 1}}
    scene.keys_from.script |= {
        "POST /v1/auth/approle/login": login,
        "POST /v1/auth/kubernetes/login": login,
        "GET /v1/secret/data/app": Answer(200, {"data": data}),
    }
    query = f"auth=kubernetes&role=job&jwt={scene.write('jwt', JWT)}"
    if by_role_id:
        path = scene.write("secret-id", "marked-secret-id")
        query = f"auth=approle&role_id=job&secret_id_file={path}"
    scene.creds = [f"vault:{scene.keys_from.url}/secret/app?{query}"]


def from_vault_by_account(scene: Scene) -> None:
    from_vault(scene, by_role_id=False)


def from_sts(scene: Scene) -> None:
    given = granted("AssumeRoleWithWebIdentity", end="2099-01-01T00:00:00Z")
    body = given.body.replace("marked-secret", SECRET).replace("marked-token", TOKEN)
    scene.keys_from.script["POST /"] = Answer(200, body, given.headers)
    scene.creds = ["web-identity"]
    scene.variables |= {
        "AWS_WEB_IDENTITY_TOKEN_FILE": scene.write("jwt", JWT),
        "AWS_ROLE_ARN": ROLE,
        "AWS_ENDPOINT_URL_STS": scene.keys_from.url,
    }


def from_container(scene: Scene) -> None:
    given = {"AccessKeyId": "ASIA", "SecretAccessKey": SECRET, "Token": TOKEN}
    scene.keys_from.script["GET /keys"] = Answer(200, given)
    scene.creds = ["instance"]
    scene.variables |= {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{scene.keys_from.url}/keys",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "marked-authorization",
    }


SOURCES: tuple[Callable[[Scene], None], ...] = (
    from_env,
    from_file,
    from_vault,
    from_vault_by_account,
    from_sts,
    from_container,
)

# -------------------------------------------------------------------------------------- failures


@dataclass(frozen=True)
class Failure:
    """One thing that goes wrong.

    Attributes:
        name: What a test calls it.
        prepare: Makes it go wrong.
        kind: Of the error that `resolve` raises; ``fault`` when it is no error of ours, and None
            when it needn't raise one.
        met: Which operations meet it, and at which requests of S3.
        source: Where the keys come from; None for each in turn.
    """

    name: str
    prepare: Callable[[Scene], None]
    kind: str | None = None
    met: Mapping[str, Sequence[str]] = field(default_factory=lambda: AT_ANY)
    source: Callable[[Scene], None] | None = None


def script(fault: Scripted) -> Callable[[Scene], None]:
    """Let requests go wrong."""
    return lambda scene: scene.script(fault)


STATUS_OF = {
    "404": 404, "400": 400, "403": 403,
    "NoSuchKey": 404, "NoSuchBucket": 404, "PreconditionFailed": 412,
    "ConditionalRequestConflict": 409, "OperationAborted": 409,
    "ExpiredToken": 400, "InvalidToken": 400, "TokenRefreshRequired": 400,
    "RequestTimeTooSkewed": 403, "RequestTimeout": 400,
    "InternalError": 500, "ServiceUnavailable": 503, "SlowDown": 503,
    "NotImplemented": 501, "KeyTooLongError": 400, "InvalidObjectName": 400,
    "PermanentRedirect": 301, "AuthorizationHeaderMalformed": 400,
    "IllegalLocationConstraintException": 400, "MethodNotAllowed": 405, "InvalidRequest": 400,
}  # fmt: skip
"""The status that comes with a code; 403 where it isn't here."""

CODES = sorted({*BY_CODE, *STATUS_OF, "SignatureDoesNotMatch", "AccessDenied"} - {"404"})
BARE = (304, 307, 404, 409, 412, 429, 500, 501, 502, 504)
"""Statuses without a code."""

KIND_OF = {
    "AccessDenied": "permission-denied",
    "ExpiredToken": "credentials-expired",
    "ExpiredTokenException": "credentials-expired",
    "InvalidAccessKeyId": "credentials-refused",
    "InvalidToken": "credentials-refused",
    "KeyTooLongError": "invalid-input",
    "InvalidObjectName": "invalid-input",
    "NoSuchBucket": "root-missing",
    "RequestTimeTooSkewed": "clock-skew",
    "SignatureDoesNotMatch": "credentials-refused",
    "TokenRefreshRequired": "credentials-expired",
    "400": "permission-denied",
    "403": "permission-denied",
}
"""What the refusal of a listing is; ``store-unavailable`` where it isn't here."""


def coded() -> Iterator[Failure]:
    """Each code and status, with all that was sent beside it."""
    answers: dict[str, tuple[int, str]] = {code: (STATUS_OF.get(code, 403), code) for code in CODES}
    answers |= {str(status): (status, "") for status in BARE}
    for name, (status, code) in answers.items():
        kind = KIND_OF.get(name, "store-unavailable")
        yield Failure(name, script(echo(status, code)), kind, BY_REQUEST)


def cut_off() -> Iterator[Failure]:
    """Answers that don't arrive, or not whole, or slowly, or are none of S3's."""
    faults: dict[str, Scripted] = {
        "a reset": Reset(),
        "a lost reply": LoseReply(),
        "a reply cut off in its headers": LoseReply(60),
        "a reply cut off in its body": LoseReply(250),
        "a slow reply": Drip(5.0),
        "a page of a proxy": echo_page(200),
        "a page of XML that ends early": echo_page(200, "<ListBucketResult><Name>"),
        "an error of a proxy": echo_page(502),
        "a page of a server that is no store": echo_page(404),
    }
    for name, fault in faults.items():
        yield Failure(name, script(fault), "store-unavailable", BY_REQUEST)
    early = script(echo_page(403, "<Error><Code>"))
    yield Failure("an error of XML that ends early", early, "permission-denied", BY_REQUEST)
    no_text = script(Say(403, b"\xff\xfe\x00marked", "application/xml"))
    yield Failure("an error that is no text", no_text, "permission-denied", BY_REQUEST)


def pages() -> Iterator[Failure]:
    """Listings and batches that aren't whole."""
    whole = {"": ("resolve", "log", "watch", "prune")}  # who needs every page
    yield Failure("no token of a page", script(LoseToken()), "listing-incomplete", whole)
    yield Failure("a token again", script(RepeatToken()), "listing-incomplete", whole)
    kept = KeepKeys({f"job/{SAVES}/checkpoint-1/model.safetensors": TOKEN})
    at = {"DeleteObjects": ("prune",)}
    yield Failure("a batch that keeps a key", script(kept), met=at)


def repeated() -> Iterator[Failure]:
    """The token where something of ours would be shown."""

    def region(request: Request) -> Refuse:
        return Refuse(400, "X", told(request), {"x-amz-bucket-region": TOKEN})

    def moved(request: Request) -> Refuse:
        return Refuse(301, f"x{TOKEN}", told(request), {"x-amz-bucket-region": f"{TOKEN}0"})

    probed = dict.fromkeys(("PutObject", "DeleteObject"), ("probe",))
    met = {request: (*BY_REQUEST[request], *probed.get(request, ())) for request in BY_REQUEST}
    unavailable = "store-unavailable"
    for status, kind in (
        (403, "permission-denied"),
        (400, unavailable),
        (501, unavailable),
    ):
        fault = script(echo(status, TOKEN))
        yield Failure(f"the token as a code of {status}", fault, kind, met)
    yield Failure("a part of the token as a code", script(echo(400, TOKEN[3:])), unavailable)
    yield Failure("the token as a region", script(region), unavailable, met)
    yield Failure("the token within a region", script(moved), unavailable, met)


def in_botocore(scene: Scene) -> None:
    """Let botocore itself break, with words that hold what is being sent."""
    scene.variables["DISPATCH_TEST_FAULT"] = "yes"


# ------------------------------------------------------------------ settings that are wrong


def other_region(*, redirects: bool) -> Callable[[Scene], None]:
    def prepare(scene: Scene) -> None:
        scene.fake.create_bucket(BUCKET, region="eu-central-1", redirects=redirects)

    return prepare


def clock(scene: Scene) -> None:
    scene.fake.skew_s = 3600.0


def other_secret(scene: Scene) -> None:
    scene.fake.add_keys(Keys("ASIA", "another", TOKEN))


def other_token(scene: Scene) -> None:
    scene.fake.add_keys(Keys("ASIA", SECRET, "another"))


def unknown_keys(scene: Scene) -> None:
    scene.fake.remove_keys("ASIA")


def no_rights(scene: Scene) -> None:
    denied = frozenset({"s3:ListBucket", "s3:PutObject", "s3:GetObject", "s3:DeleteObject"})
    scene.fake.add_keys(Keys("ASIA", SECRET, TOKEN, denied=denied))


def ended(scene: Scene) -> None:
    scene.fake.add_keys(Keys("ASIA", SECRET, TOKEN, expires_at=0.0))


def other_bucket(scene: Scene) -> None:
    scene.root = "s3://nowhere/job"


def proxied(fault: Scripted | None) -> Callable[[Scene], None]:
    """Let the fake be a proxy, too, that a plain request comes to whole; None: nobody there."""

    def prepare(scene: Scene) -> None:
        scene.options |= {"endpoint": "http://127.0.0.1:9", "proxy": scene.fake.url}
        if fault is None:
            scene.options["proxy"] = f"http://127.0.0.1:{closed_port()}"
        else:
            scene.script(fault)

    return prepare


def tunnelled(scene: Scene) -> None:
    """Let a proxy refuse a CONNECT, with everything that it was sent."""
    scene.options |= {"endpoint": "https://127.0.0.1:9", "proxy": scene.keys_from.url}


def closed(scene: Scene) -> None:
    scene.options["endpoint"] = f"http://127.0.0.1:{closed_port()}"


def silent(scene: Scene) -> None:
    scene.options["endpoint"] = scene.stack.enter_context(silent_server())


def no_tls(scene: Scene) -> None:
    scene.options["endpoint"] = scene.fake.url.replace("http:", "https:")


def no_trust(scene: Scene) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(scene.certificates.certificate, scene.certificates.key)
    scene.options["endpoint"] = scene.stack.enter_context(S3Fake(tls=tls)).url


def settings() -> Iterator[Failure]:
    yield Failure("another region", other_region(redirects=False), "wrong-region")
    yield Failure("another region, moved", other_region(redirects=True), "wrong-region")
    yield Failure("a clock that is off", clock, "clock-skew")
    yield Failure("another secret", other_secret, "credentials-refused")
    yield Failure("another token", other_token, "credentials-refused")
    yield Failure("unknown keys", unknown_keys, "credentials-refused")
    yield Failure("keys without rights", no_rights, "permission-denied")
    yield Failure("no bucket", other_bucket, "root-missing")
    yield Failure("no proxy", proxied(None), "store-unavailable")
    for status in (403, 407, 502):
        prepare = proxied(echo_page(status))
        yield Failure(f"a proxy that refuses with {status}", prepare)
    yield Failure("a proxy that repeats", proxied(echo_page(200)), "store-unavailable")
    yield Failure("a proxy that refuses a tunnel", tunnelled, "store-unavailable")
    yield Failure("no store", closed, "store-unavailable")
    yield Failure("a store that is silent", silent, "store-unavailable")
    yield Failure("no TLS", no_tls, "store-unavailable")
    yield Failure("no trust", no_trust, "store-unavailable")


# ----------------------------------------------------------------------------- keys that end


def repeat_all(status: int) -> Callable[[Asked], Answer]:
    def say(asked: Asked) -> Answer:
        text = f"{asked.body.decode()} {dict(asked.headers)}"
        if asked.path == "/":
            text = text.replace("&", "&amp;").replace("<", "")
            return refused(status, text, text)
        return Answer(status, {"errors": [text], "Code": text, "message": text})

    return say


def ended_and(status: int) -> Callable[[Scene], None]:
    """Let the store say that the keys have ended, and their source refuse, once it gave some."""

    def prepare(scene: Scene) -> None:
        def end(request: Request) -> Refuse:
            del request
            scene.keys_from.script |= dict.fromkeys(scene.keys_from.script, repeat_all(status))
            return Refuse(400, "ExpiredToken")

        scene.script(end)

    return prepare


def ended_and_broken(content: str) -> Callable[[Scene], None]:
    def prepare(scene: Scene) -> None:
        def end(request: Request) -> Refuse:
            scene.write("keys", content)
            return Refuse(400, "ExpiredToken", told(request))

        scene.script(end)

    return prepare


def ended_and_renewed(scene: Scene) -> None:
    """And the next keys aren't good either."""
    ended_and_broken(json.dumps(document(OTHERS)))(scene)


def ends() -> Iterator[Failure]:
    asked = (from_vault, from_vault_by_account, from_sts, from_container)
    for source in SOURCES:
        name = f"keys that have ended, {source.__name__}"
        yield Failure(name, ended, "credentials-expired", source=source)
    for source in asked:
        name = f"keys that have ended, and are refused {source.__name__}"
        yield Failure(name, ended_and(403), "credentials-refused", source=source)
        name = f"keys that have ended, and a fault {source.__name__}"
        yield Failure(name, ended_and(500), "credentials-unreachable", source=source)
    broken = ended_and_broken(f'{{"secret_access_key": "{SECRET}')
    yield Failure("a broken file", broken, "credentials-malformed", source=from_file)
    yield Failure(
        "others that have ended, too",
        ended_and_renewed,
        "credentials-refused",
        source=from_file,
    )


FAULT = Failure("a fault in botocore", in_botocore, "fault")
ALL_FAILURES = (*coded(), *cut_off(), *repeated(), *settings(), *ends(), *pages(), FAULT)
FAILURES = {failure.name: failure for failure in ALL_FAILURES}


def of_each_kind() -> Iterator[Failure]:
    """The failures; of those by code one for each way in which they end."""
    seen: set[tuple[Meaning | None, str | None]] = set()
    for failure in ALL_FAILURES:
        way = BY_CODE.get(failure.name), failure.kind
        if failure.name not in CODES or way not in seen:
            yield failure
        if failure.name in CODES:
            seen.add(way)


@contextmanager
def scene_of(number: int, failure: Failure, folder: Path, trusted: Certificates) -> Iterator[Scene]:
    """Make the root and what goes wrong in it. The number says where the keys come from."""
    with ExitStack() as stack:
        fake = S3Fake()
        stack.callback(fake._stop)  # not `close`: a fault needn't be met by every operation
        fake.add_keys(KEYS)
        keys_from = stack.enter_context(scripted_server())
        scene = Scene(fake, folder, keys_from, stack, trusted)
        scene.options["endpoint"] = fake.url
        source = failure.source or SOURCES[number % len(SOURCES)]
        source(scene)
        fake.create_bucket(BUCKET)
        scene.fill()
        failure.prepare(scene)
        yield scene
