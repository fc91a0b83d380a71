"""What a `vault:` source may say, and what it never may."""

import pytest

from dispatch.adapters.credentials.fields import Names
from dispatch.adapters.credentials.vault_address import (
    AppRoleLogin,
    KubernetesLogin,
    VaultAddress,
    parse_vault_address,
)
from dispatch.errors import InvalidInputError

SECRET = "hunter2secret"
SERVER = "https://vault.example.org:8200"
JWT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
FIELDS = Names("access_key_id", "secret_access_key", "session_token")
K8S = "auth=kubernetes&role=job"
APPROLE = "auth=approle&role_id=r&secret_id_file=/s"


def test_the_least_that_kubernetes_needs() -> None:
    login = KubernetesLogin("kubernetes", "job", JWT)
    assert parse_vault_address(f"{SERVER}/secret/team/app?{K8S}") == VaultAddress(
        SERVER, "secret", "team/app", login, FIELDS
    )


def test_everything_that_kubernetes_takes() -> None:
    url = (
        f"{SERVER}/kv/app/?auth=kubernetes&role=job&jwt=/run/my%20token&auth_mount=k8s/eu"
        "&namespace=team/a&proxy=http://proxy:3128/&ca=/etc/ca.pem"
        "&key_field=id&secret_field=key&token_field=token"
    )
    assert parse_vault_address(url) == VaultAddress(
        SERVER,
        "kv",
        "app",
        KubernetesLogin("k8s/eu", "job", "/run/my token"),
        Names("id", "key", "token"),
        is_token_named=True,
        namespace="team/a",
        proxy="http://proxy:3128",
        ca_file="/etc/ca.pem",
    )


def test_the_least_that_approle_needs() -> None:
    assert parse_vault_address(f"{SERVER}/secret/app?{APPROLE}").login == AppRoleLogin(
        "approle", "r", "/s"
    )


def test_the_query_is_percent_encoded_as_in_any_url() -> None:
    """A plus sign is itself: this is no form."""
    url = f"{SERVER}/secret/a%20b+c?auth=kubernetes&role=a%26b+c&proxy=http%3A%2F%2Fproxy%3A3128"
    address = parse_vault_address(url)
    assert address.path == "a b+c"
    assert isinstance(address.login, KubernetesLogin)
    assert address.login.role == "a&b+c"
    assert address.proxy == "http://proxy:3128"


@pytest.mark.parametrize("host", ["127.0.0.1:8200", "localhost", "[::1]:8200"])
def test_plain_http_goes_to_this_machine(host: str) -> None:
    assert parse_vault_address(f"http://{host}/secret/app?{K8S}").server == f"http://{host}"


AT = f"vault:{SERVER}/secret/app"
NO_PLACE = "does not name a mount and a path in it"
NO_URL = "vault: is not followed by http(s)://HOST[:PORT]/MOUNT/PATH?…"
NO_FILE = "that is the absolute path of a file"
NOT_K8S, NOT_APPROLE = "which auth=kubernetes doesn't take", "which auth=approle doesn't take"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"http://vault/secret/app?{K8S}", "vault:http://vault is plain http to another machine"),
        (f"{SERVER}?{K8S}", f"vault:{SERVER} {NO_PLACE}"),
        (f"{SERVER}/?{K8S}", f"vault:{SERVER}/ {NO_PLACE}"),
        (f"{SERVER}/secret?{K8S}", f"vault:{SERVER}/secret {NO_PLACE}"),
        (f"{SERVER}/secret/?{K8S}", f"vault:{SERVER}/secret/ {NO_PLACE}"),
        (f"{SERVER}/s//a?{K8S}", f"vault:{SERVER}/s//a {NO_PLACE}"),
        (f"{SERVER}/s/../a?{K8S}", f"vault:{SERVER}/s/../a {NO_PLACE}"),
        (f"{SERVER}/s/a%2Fb?{K8S}", f"vault:{SERVER}/s/a%2Fb {NO_PLACE}"),
        (f"{SERVER}/secret/app", f"{AT} has no auth= of kubernetes or approle"),
        (f"{SERVER}/secret/app?auth=token", f"{AT} has no auth= of kubernetes or approle"),
        (f"{SERVER}/secret/app?auth=kubernetes", f"{AT} has no role=, which auth=kubernetes needs"),
        (f"{SERVER}/secret/app?auth=approle", f"{AT} has no role_id=, which auth=approle needs"),
        (
            f"{SERVER}/secret/app?auth=approle&role_id=r",
            f"{AT} has no secret_id_file= {NO_FILE}",
        ),
        (f"{SERVER}/secret/app?{K8S}&role_id=r", f"{AT} has role_id=, {NOT_K8S}"),
        (f"{SERVER}/secret/app?{APPROLE}&jwt=/j", f"{AT} has jwt=, {NOT_APPROLE}"),
        (f"{SERVER}/secret/app?{K8S}&role=x", f"{AT} has role= twice"),
        (f"{SERVER}/secret/app?auth=kubernetes&role=", f"{AT} has role= without a value"),
        (f"{SERVER}/secret/app?auth=kubernetes&role", f"{AT} has role= without a value"),
        (f"{SERVER}/secret/app?{K8S}&field=x", f"{AT} has a parameter that is not known: field"),
        (f"{SERVER}/secret/app?{K8S}&ca=ca.pem", f"{AT} has no ca= {NO_FILE}"),
        (f"{SERVER}/secret/app?{K8S}&proxy=proxy:1", f"{AT}: proxy= has no scheme"),
        (f"{SERVER}/secret/app?{K8S}#x", "vault: has a fragment"),
        (f"{SERVER}:x/secret/app?{K8S}", NO_URL),
        (f"https:///secret/app?{K8S}", NO_URL),
        (f"https://[::1/secret/app?{K8S}", NO_URL),
        ("", NO_URL),
        (f"ftp://vault/secret/app?{K8S}", NO_URL),
        (f"https://v\u00e4ult/secret/app?{K8S}", NO_URL),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused(url: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_vault_address(url)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "url",
    [
        f"{SERVER}/secret/app?auth=approle&role_id=r&secret_id={SECRET}",
        f"{SERVER}/secret/app?{K8S}&token={SECRET}",
        f"{SERVER}/secret/app?{K8S}&password={SECRET}",
        f"{SERVER}/secret/app?{K8S}&jwt={SECRET}",
        f"{SERVER}/secret/app?auth=approle&role_id=r&secret_id_file={SECRET}",
        f"{SERVER}/secret/app?{K8S}&{SECRET * 3}",
        f"{SERVER}/secret/app?{K8S}&proxy=http://user:{SECRET}@proxy",
        f"{SERVER}/secret/app?{K8S}&ca={SECRET}",
        f"https://user:{SECRET}@vault/secret/app?{K8S}",
        f"https://{SECRET}@vault/secret/app?{K8S}",
        f"{SERVER}/secret/app?{K8S}#{SECRET}",
        f"{SERVER}/secret/app?auth={SECRET}",
    ],
)
def test_a_secret_in_the_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_vault_address(url)
    error = caught.value
    assert SECRET not in f"{error} {error.hint} {error.__cause__} {error.__context__}"


def test_the_name_of_a_source_shows_nothing_of_the_query() -> None:
    address = parse_vault_address(f"{SERVER}/secret/team/app?{APPROLE}&namespace=n")
    assert address.location == f"vault:{SERVER}/secret/team/app"
