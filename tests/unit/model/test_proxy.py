"""One function checks every proxy."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.errors import InvalidInputError
from dispatch.model.proxy import parse_proxy

SECRET = "hunter2secret"
BAD_HOST = "-proxy has a host that is no name and no address:"
BAD_PORT = "-proxy has a port that is not one of 1 to 65535"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://proxy", "http://proxy"),
        ("http://proxy/", "http://proxy"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("http://proxy:3128/", "http://proxy:3128"),
        ("https://proxy.example.org:443", "https://proxy.example.org:443"),
        ("HTTP://Proxy:1", "http://Proxy:1"),
        ("http://10.1.2.3:65535", "http://10.1.2.3:65535"),
        ("http://[fd00::1]:3128", "http://[fd00::1]:3128"),
        ("http://[::ffff:10.0.0.1]", "http://[::ffff:10.0.0.1]"),
        ("http://my_proxy-1:080", "http://my_proxy-1:080"),
    ],
)
def test_a_proxy_is_scheme_host_and_port(text: str, url: str) -> None:
    assert parse_proxy(text, "-proxy") == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "-proxy is empty"),
        ("proxy:3128", "-proxy has no scheme"),
        ("http:proxy", "-proxy has no scheme"),
        ("not a url", "-proxy 'not a url' has a character that no URL has"),
        ("http://pr\u00f6xy", "-proxy 'http://pr\u00f6xy' has a character that no URL has"),
        ("http://proxy\n", "-proxy 'http://proxy\\n' has a character that no URL has"),
        ("socks5://proxy:1080", "-proxy has the scheme 'socks5', not http or https"),
        ("http://", "-proxy has no host"),
        ("http:///", "-proxy has no host"),
        ("http://:3128", "-proxy has no host"),
        ("http://proxy:3128//", "-proxy has a path"),
        ("http://proxy:3128/path", "-proxy has a path"),
        ("http://proxy:3128?", "-proxy has a query"),
        ("http://proxy:3128/?a=b", "-proxy has a query"),
        ("http://proxy:3128#x", "-proxy has a fragment"),
        ("http://proxy:", BAD_PORT),
        ("http://proxy:0", BAD_PORT),
        ("http://proxy:65536", BAD_PORT),
        ("http://proxy:000080", BAD_PORT),
        ("http://proxy:80:80", BAD_PORT),
        ("http://proxy:-1", BAD_PORT),
        ("http://pro%78y", f"{BAD_HOST} 'pro%78y'"),
        ("http://a,b", f"{BAD_HOST} 'a,b'"),
        ("http://a\\b", f"{BAD_HOST} 'a\\\\b'"),
        ("http://[fd00::1", f"{BAD_HOST} '[fd00::1'"),
        ("http://[proxy]", f"{BAD_HOST} '[proxy]'"),
        ("http://[fe80::1%25eth0]", f"{BAD_HOST} '[fe80::1%25eth0]'"),
        ("http://[::1]3128", f"{BAD_HOST} '[::1]3128'"),
        ("http://[]:1", "-proxy has no host"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_proxy(text, "-proxy")
    assert str(caught.value) == message
    assert (
        caught.value.hint == "A proxy is http://HOST:PORT or https://HOST:PORT, and nothing more."
    )


@pytest.mark.parametrize(
    "text",
    [
        f"http://user:{SECRET}@proxy:3128",
        f"http://{SECRET}@proxy",
        f"user:{SECRET}@proxy:3128",
        f"http://user:pa/{SECRET}@proxy",
        f"http://user:{SECRET}",
        f"http://proxy:3128/{SECRET}",
        f"http://proxy:3128?password={SECRET}",
        f"http://proxy:3128#{SECRET}",
    ],
)
def test_a_password_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_proxy(text, "vault:https://vault/secret/app: proxy=")
    assert SECRET not in f"{caught.value} {caught.value.hint}"
    assert str(caught.value).startswith("vault:https://vault/secret/app: proxy= has ")


@given(
    st.one_of(
        st.text(), st.builds("http://{}".format, st.text(alphabet="a.:/[]@0?#%", max_size=20))
    )
)
def test_whatever_is_written_is_a_proxy_or_refused(text: str) -> None:
    """And what is taken means the same to everybody who takes URLs apart."""
    try:
        url = parse_proxy(text, "-proxy")
    except InvalidInputError:
        return
    parts = urlsplit(url)
    assert parts.scheme in {"http", "https"}
    assert parts.hostname
    assert (parts.username, parts.password, parts.path, parts.query) == (None, None, "", "")
    assert parts.port is None or 1 <= parts.port <= 65_535
    assert parse_proxy(url, "-proxy") == url
