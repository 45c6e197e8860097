"""A process that waits for the hints' lock prints which process holds it.

The test holds the lock for 0.5 s, and the process prints its message after 0.1 s.
"""

import re
import subprocess
import sys
from pathlib import Path

from test_kernel_lock import Ctl, lock, taking  # noqa: F401 - lock is a fixture

from headway.backends.kernel import hints

HOLD = """
import fcntl, os, sys, time
held = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


def test_a_waiting_process_names_the_lock_holder(lock: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(hints, "_NOTICE_AFTER_S", 0.1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock), "0.5"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with taking(Ctl()):
        pass
    holder.communicate()
    said = rf"headway: waiting for {lock}, held by process {holder.pid} \(.+\)\n"
    assert re.fullmatch(said, capsys.readouterr().err)
