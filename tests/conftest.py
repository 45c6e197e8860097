"""What every test begins with."""

import signal


def pytest_configure() -> None:
    # A shell that starts tests in the background has them ignore Ctrl-C, and programs that tests
    # start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
