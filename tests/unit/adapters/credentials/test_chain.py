"""The order, its rule, and renewal for weeks, by a clock that a test turns."""

from dataclasses import replace

import pytest

from dispatch.adapters.credentials.chain import Chain
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials

START = 1_800_000_000.0
HOUR = 3600.0


class Clock:
    """Turned by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return int(self.now * 1e9)


class Source:
    """Gives what a test puts into it."""

    def __init__(self, name: str, *outcomes: Credentials | Absent | CredentialsError) -> None:
        self.name = name
        self.outcomes = list(outcomes)
        self.loads = 0
        self.changed = False

    def load(self) -> Credentials | Absent:
        self.loads += 1
        self.changed = False
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, CredentialsError):
            raise outcome
        return outcome

    def has_changed(self) -> bool:
        return self.changed


def keys(number: int, life_s: float | None = None) -> Credentials:
    end = None if life_s is None else START + life_s
    return Credentials(f"AKIA{number}", f"secret{number}", None, end)


def broken(why: str = "source: is broken") -> CredentialsError:
    return CredentialsError(why, kind="credentials-unreachable")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_absent_source_gives_way_to_the_next(clock: Clock) -> None:
    first, second, third = (
        Source("one", Absent("no")),
        Source("two", keys(2)),
        Source("three", keys(3)),
    )
    chain = Chain([first, second, third], clock)
    assert [chain.current(), chain.current()] == [keys(2), keys(2)]
    assert (first.loads, second.loads, third.loads) == (1, 1, 0)


def test_the_source_of_the_keys_is_named(clock: Clock) -> None:
    """Whether they were asked for before or not, and after they were renewed."""
    sources = Source("one", Absent("no")), Source("two", keys(2, HOUR), keys(3))
    chain = Chain(sources, clock)
    assert chain.source() == "two"
    assert sources[1].loads == 1
    assert chain.current() == keys(2, HOUR)
    clock.now += HOUR
    assert chain.source() == "two"
    assert chain.current() == keys(3)
    nothing = Chain(sources[:1], clock)
    with pytest.raises(CredentialsError, match="tried one: no"):
        nothing.source()


def test_a_broken_source_is_never_skipped(clock: Clock) -> None:
    error = broken()
    second = Source("two", keys(2))
    chain = Chain([Source("one", error), second], clock)
    for ask in (chain.current, chain.renew):
        with pytest.raises(CredentialsError) as caught:
            ask()
        assert caught.value is error
    assert second.loads == 0


def test_an_error_at_first_is_not_remembered(clock: Clock) -> None:
    chain = Chain([Source("one", broken(), keys(1))], clock)
    with pytest.raises(CredentialsError):
        chain.current()
    assert chain.current() == keys(1)


def test_no_source_at_all_lists_what_was_tried(clock: Clock) -> None:
    chain = Chain(
        [Source("env", Absent("it is unset")), Source("instance", Absent("no answer"))], clock
    )
    with pytest.raises(CredentialsError) as caught:
        chain.current()
    message = "no credentials for the store; tried env: it is unset; instance: no answer"
    assert (str(caught.value), caught.value.kind) == (message, "credentials-missing")


def test_keys_without_an_end_are_asked_for_once(clock: Clock) -> None:
    source = Source("one", keys(1))
    chain = Chain([source], clock)
    for _ in range(1000):
        assert chain.current() == keys(1)
        clock.now += HOUR
    assert source.loads == 1


def test_keys_that_have_ended_already_are_an_error(clock: Clock) -> None:
    chain = Chain([Source("file:/k", keys(1, 0)), Source("two", keys(2))], clock)
    with pytest.raises(CredentialsError) as caught:
        chain.current()
    assert caught.value.kind == "credentials-expired"
    assert "file:/k: the credentials with access key id AKIA1 have expired" in str(caught.value)


@pytest.mark.parametrize(
    ("life_s", "renewed_after_s"), [(HOUR, 2700), (12 * HOUR, 42_300), (900, 675), (60, 45)]
)
def test_keys_are_renewed_before_their_end(
    clock: Clock, life_s: float, renewed_after_s: float
) -> None:
    """A quarter of an hour before, or when a quarter of their time is left."""
    chain = Chain([Source("one", keys(1, life_s), keys(2))], clock)
    chain.current()
    clock.now = START + renewed_after_s - 0.001
    assert chain.current() == keys(1, life_s)
    clock.now = START + renewed_after_s
    assert chain.current() == keys(2)


def test_three_weeks_of_keys_that_live_an_hour(clock: Clock) -> None:
    """Asked for every 10 s, never with less than a quarter of an hour left."""

    class Hourly(Source):
        def load(self) -> Credentials:
            self.loads += 1
            return Credentials(f"AKIA{self.loads}", "secret", None, clock.now + HOUR)

    source = Hourly("one")
    chain = Chain([source], clock)
    for _ in range(21 * 24 * 360):
        credentials = chain.current()
        assert credentials.expires_at is not None
        assert credentials.expires_at - clock.now > 900 - 10
        clock.now += 10
    assert source.loads == 21 * 24 * 3600 // 2700


def test_a_service_that_gives_the_same_keys_is_asked_every_half_minute(clock: Clock) -> None:
    """Instance metadata has new keys only five minutes before the end of the old ones."""
    old = keys(1, HOUR)
    source = Source("instance", old)
    chain = Chain([source], clock)
    chain.current()
    clock.now = START + HOUR - 900
    for _ in range(60):
        assert chain.current() == old
        clock.now += 10
    assert source.loads == 1 + 20
    source.outcomes = [keys(2, 2 * HOUR)]
    clock.now += 20
    assert chain.current() == keys(2, 2 * HOUR)


def test_the_same_keys_with_a_later_end_are_taken(clock: Clock) -> None:
    old = keys(1, HOUR)
    source = Source("one", old, replace(old, expires_at=START + 2 * HOUR))
    chain = Chain([source], clock)
    chain.current()
    clock.now = START + HOUR - 1
    assert chain.current().expires_at == START + 2 * HOUR
    clock.now = START + HOUR
    chain.current()
    assert source.loads == 2


def test_a_failing_renewal_is_tried_again_until_the_end(clock: Clock) -> None:
    """An outage of a quarter of an hour is survived; the last error is the one that is raised."""
    source = Source("vault", keys(1, HOUR), broken("an outage"))
    chain = Chain([source], clock)
    chain.current()
    for second in range(2700, 3600, 10):
        clock.now = START + second
        assert chain.current() == keys(1, HOUR)
    assert source.loads == 1 + 30
    clock.now = START + HOUR
    for _ in range(2):
        with pytest.raises(CredentialsError, match="an outage"):
            chain.current()
    source.outcomes = [keys(2, 2 * HOUR)]
    assert chain.current() == keys(2, 2 * HOUR)


def test_an_outage_that_ends_in_time_is_not_noticed(clock: Clock) -> None:
    source = Source("vault", keys(1, HOUR), broken(), keys(2, 2 * HOUR))
    chain = Chain([source], clock)
    chain.current()
    clock.now = START + 2700
    assert chain.current() == keys(1, HOUR)
    clock.now += 29.9
    assert chain.current() == keys(1, HOUR)
    clock.now += 0.1
    assert chain.current() == keys(2, 2 * HOUR)


def test_a_file_that_changes_is_read_at_the_next_request(clock: Clock) -> None:
    source = Source("file:/k", keys(1), keys(2))
    chain = Chain([source], clock)
    chain.current()
    source.changed = True
    assert chain.current() == keys(2)
    assert chain.current() == keys(2)
    assert source.loads == 2


def test_a_file_that_is_half_written_may_stay_so_for_a_minute(clock: Clock) -> None:
    """Then it is an error: nobody may think that the new keys are in use."""
    source = Source("file:/k", keys(1), broken("file:/k: is not JSON"))
    chain = Chain([source], clock)
    chain.current()
    source.changed = True
    for second in (0, 1, 29, 30, 59.9):
        clock.now = START + second
        assert chain.current() == keys(1)
    assert source.loads == 1 + 2
    clock.now = START + 60
    with pytest.raises(CredentialsError, match="is not JSON"):
        chain.current()
    source.outcomes, source.changed = [keys(2)], True
    assert chain.current() == keys(2)


def test_a_file_that_is_repaired_is_read_at_once(clock: Clock) -> None:
    source = Source("file:/k", keys(1), broken(), keys(2))
    chain = Chain([source], clock)
    chain.current()
    source.changed = True
    assert chain.current() == keys(1)
    source.changed = True
    assert chain.current() == keys(2)


def test_a_source_that_is_gone_is_an_error_and_no_other_is_asked(clock: Clock) -> None:
    """A job doesn't change who it is under way."""
    source, other = Source("file:/k", keys(1), Absent("it does not exist")), Source("env", keys(9))
    chain = Chain([source, other], clock)
    chain.current()
    source.changed = True
    assert chain.current() == keys(1)
    clock.now += 60
    message = "file:/k: it gave credentials before, and is gone now: it does not exist"
    for ask in (chain.current, chain.renew):
        with pytest.raises(CredentialsError) as caught:
            ask()
        assert str(caught.value) == message
    assert other.loads == 0


def test_what_is_renewed_into_ended_keys_is_expired_at_the_end(clock: Clock) -> None:
    source = Source("file:/k", keys(1, HOUR), keys(2, 10))
    chain = Chain([source], clock)
    chain.current()
    clock.now = START + 2700
    assert chain.current() == keys(1, HOUR)
    clock.now = START + HOUR
    with pytest.raises(CredentialsError, match="access key id AKIA2 have expired"):
        chain.current()


def test_a_clock_that_is_set_back_delays_nothing(clock: Clock) -> None:
    source = Source("one", keys(1, HOUR), broken(), keys(2, 2 * HOUR))
    chain = Chain([source], clock)
    chain.current()
    clock.now = START + 3000
    chain.current()
    clock.now = START + 2000
    assert chain.current() == keys(2, 2 * HOUR)


def test_renew_gives_other_keys(clock: Clock) -> None:
    source = Source("one", keys(1), keys(2))
    chain = Chain([source], clock)
    chain.current()
    assert chain.renew() == keys(2)
    assert chain.current() == keys(2)
    assert source.loads == 2


def test_renew_asks_once_and_the_same_keys_are_expired(clock: Clock) -> None:
    """What they say of their end doesn't make them others."""
    source = Source("env", keys(1), replace(keys(1), expires_at=START + HOUR))
    chain = Chain([source], clock)
    chain.current()
    with pytest.raises(CredentialsError) as caught:
        chain.renew()
    assert caught.value.kind == "credentials-expired"
    assert str(caught.value) == (
        "env: the credentials with access key id AKIA1 have expired, and it gives no others"
    )
    assert source.loads == 2
    assert chain.current() == keys(1)


def test_renew_with_keys_that_have_ended_is_expired(clock: Clock) -> None:
    chain = Chain([Source("one", keys(1), keys(2, 0))], clock)
    chain.current()
    with pytest.raises(CredentialsError, match="have expired"):
        chain.renew()


def test_renew_before_anything_was_asked_is_a_first_look(clock: Clock) -> None:
    source = Source("one", keys(1))
    assert Chain([source], clock).renew() == keys(1)
    assert source.loads == 1


def test_a_renewal_that_the_store_asked_for_fails_at_once(clock: Clock) -> None:
    source = Source("vault", keys(1), broken("an outage"), keys(2))
    chain = Chain([source], clock)
    chain.current()
    with pytest.raises(CredentialsError, match="an outage"):
        chain.renew()
    assert chain.renew() == keys(2)


def test_an_error_has_no_context_and_no_secret_in_any_frame(clock: Clock) -> None:
    import traceback

    chain = Chain([Source("env", keys(1))], clock)
    chain.current()
    with pytest.raises(CredentialsError) as caught:
        chain.renew()
    assert caught.value.__cause__ is caught.value.__context__ is None
    lines = traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    text = "".join(lines)
    assert "AKIA1" in text
    assert "secret1" not in text
