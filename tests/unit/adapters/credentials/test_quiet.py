"""What other packages log of secrets is dropped, and nothing else."""

import logging
import threading

import pytest

from dispatch.adapters.credentials.quiet import quiet


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def test_what_others_log_inside_is_dropped(said: pytest.LogCaptureFixture) -> None:
    loggers = [logging.getLogger(n) for n in ("botocore.parsers", "urllib3.connectionpool", "hvac")]
    with quiet(), quiet():
        for logger in loggers:
            logger.debug("marked")
            logger.warning("marked")
        logging.getLogger("dispatch.own").debug("kept")
    assert said.messages == ["kept"]


def test_afterwards_they_log_as_before(said: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("botocore.parsers")
    with pytest.raises(ValueError, match="x"), quiet():
        raise ValueError("x")
    logger.debug("after")
    assert said.messages == ["after"]


def test_other_threads_go_on_logging(said: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("botocore.parsers")
    with quiet():
        thread = threading.Thread(target=logger.debug, args=["of another thread"])
        thread.start()
        thread.join()
    assert said.messages == ["of another thread"]
