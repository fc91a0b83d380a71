"""`profile:NAME`: the shared AWS configuration, with everything that it can name.

Here botocore reads the process's own environment in one respect, which can't be passed to it:
endpoints (``AWS_ENDPOINT_URL_STS`` and its kin) and other settings of its clients. Programs of
``credential_process`` inherit all of it.
"""

from __future__ import annotations

import os
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from dispatch.adapters.credentials.environment import EnvironmentSource
from dispatch.adapters.credentials.fields import Names, credentials_in
from dispatch.adapters.credentials.instance import of_container, of_machine
from dispatch.adapters.credentials.outcome import Broken, Outcome, settle
from dispatch.adapters.credentials.quiet import quiet
from dispatch.adapters.credentials.reading import Stamp, stamp
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.credentials import CredentialProvider
    from botocore.session import Session

    from dispatch.adapters.credentials.surroundings import Surroundings

_NAMES = Names("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "the end")
_FILES = {
    "config_file": ("AWS_CONFIG_FILE", "~/.aws/config"),
    "credentials_file": ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
}
_REGION = "us-east-1"  # of a token service when none is configured; S3 compatibles don't mind
_MFA = "asks for an MFA code, which nobody is there to type"


class _CodeNeededError(Exception):
    """A profile asks for a code from a person."""


class ProfileSource:
    """Whatever keys a profile of the shared AWS configuration leads to.

    Static keys, a role assumed from other keys, a web identity, an SSO cache, a program. It is
    absent when no file has the profile, or the profile names no keys. Each `load` starts from
    the files. What it asks of AWS goes through the store's proxy, or none.
    """

    __slots__ = ("_around", "_profile", "_stamp", "name")

    def __init__(self, profile: str | None, around: Surroundings) -> None:
        self.name = "profile" if profile is None else f"profile:{profile}"
        variables = around.variables
        self._profile = (
            profile
            or variables.get("AWS_PROFILE")
            or variables.get("AWS_DEFAULT_PROFILE")
            or "default"
        )
        self._around = around
        self._stamp: Stamp = ()

    def load(self) -> Credentials | Absent:
        return settle(self.name, self._outcome())

    def has_changed(self) -> bool:
        return self._stamp != self._stamp_now()

    def _paths(self) -> dict[str, str]:
        given = {
            variable: self._around.variables.get(name) or default
            for variable, (name, default) in _FILES.items()
        }
        return {key: os.path.expanduser(os.path.expandvars(path)) for key, path in given.items()}

    def _stamp_now(self) -> Stamp:
        return stamp(*self._paths().values())

    def _outcome(self) -> Outcome:
        self._stamp = self._stamp_now()
        from dispatch.adapters.credentials.aws import explain

        with quiet():
            try:
                return self._found(self._session())
            except _CodeNeededError:
                hint = "Take a source that works unattended."
                return Broken(f"profile {self._profile!r} {_MFA}", hint=hint)
            except CredentialsError as error:  # of a source that the profile names
                return Broken(str(error), kind=error.kind)
            except Exception as error:  # noqa: BLE001 - whatever it is, it may hold keys
                broken = explain(error, None)
                hint = (
                    f"See what `aws configure export-credentials --profile {self._profile}` says."
                )
                return Broken(broken.why, kind=broken.kind, hint=hint)

    def _session(self) -> Session:
        from botocore.session import Session

        from dispatch.adapters.credentials.aws import client_config

        session = Session(profile=self._profile)
        for variable, path in self._paths().items():
            session.set_config_variable(variable, path)
        if self._around.ca_file:
            session.set_config_variable("ca_bundle", self._around.ca_file)
        session.set_default_client_config(client_config(self._around))
        return session

    def _found(self, session: Session) -> Outcome:
        if self._profile not in session.full_config["profiles"]:
            where = " or ".join(self._paths().values())
            return Absent(f"no profile {self._profile!r} in {where}")
        for provider in _providers(session, self._profile, self._around):
            with quiet():  # again: looking for providers may have made more loggers
                found = provider.load()
                if found is not None:
                    return _outcome_of(found)
        return Absent(f"profile {self._profile!r} names no credentials")


def _outcome_of(found: Any) -> Outcome:  # noqa: ANN401 - one of many classes of botocore's
    """Our credentials from botocore's, whose end has no public name (aws-cli reads it, too)."""
    frozen = found.get_frozen_credentials()
    end = getattr(found, "_expiry_time", None)
    values = (frozen.access_key, frozen.secret_key, frozen.token, end.isoformat() if end else None)
    return credentials_in(dict(zip(astuple(_NAMES), values, strict=True)), _NAMES)


def _providers(session: Session, profile: str, around: Surroundings) -> list[CredentialProvider]:
    """Those of botocore's own chain that have to do with a profile, in its order.

    The rest of the chain would look into the environment and at the machine for keys that the
    profile doesn't name; a ``credential_source`` that it does name is one of ours.
    """
    from botocore.credentials import (
        AssumeRoleProvider,
        CanonicalNameCredentialSourcer,
        ProfileProviderBuilder,
    )

    region = around.region or session.get_config_variable("region") or _REGION
    builder = ProfileProviderBuilder(session, cache={}, region_name=region)

    def client(service: str, **options: Any) -> Any:  # noqa: ANN401 - botocore's own signature
        return session.create_client(service, **{"region_name": region, **options})

    role = AssumeRoleProvider(
        load_config=lambda: session.full_config,
        client_creator=client,
        cache={},
        profile_name=profile,
        prompter=_refuse_to_prompt,
        credential_sourcer=CanonicalNameCredentialSourcer(_named_sources(around)),
        profile_provider_builder=builder,
    )
    return [role, *builder.providers(profile_name=profile, disable_env_vars=True)]


def _refuse_to_prompt(prompt: str) -> str:
    del prompt
    raise _CodeNeededError


def _named_sources(around: Surroundings) -> list[Any]:
    """What ``credential_source`` can name: our own, which take no proxy from the environment."""
    asked = (around.variables, around.monotonic)
    return [
        _Named("Environment", EnvironmentSource(around.variables).load),
        _Named("EcsContainer", lambda: settle("EcsContainer", of_container(*asked))),
        _Named("Ec2InstanceMetadata", lambda: settle("Ec2InstanceMetadata", of_machine(*asked))),
    ]


class _Named:
    """One of our sources, as a provider of botocore's."""

    METHOD = "dispatch"

    def __init__(self, name: str, load: Callable[[], Credentials | Absent]) -> None:
        self.CANONICAL_NAME = name
        self._load = load

    def load(self) -> Any:  # noqa: ANN401 - credentials of botocore's, or None
        from botocore.credentials import Credentials as BotoCredentials

        found = self._load()
        if isinstance(found, Absent):
            return None
        return BotoCredentials(
            found.access_key_id, found.secret_access_key, found.session_token, method=self.METHOD
        )
