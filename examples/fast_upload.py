"""Uploads a megabyte and tells Headway the volume and the rate before.

python examples/fast_upload.py 192.0.2.1 9000 [--quiet]

With --quiet it gives no hints, for comparison.
"""

import socket
import sys
import time

from headway import sockets
from headway.sockets import ApplicationType


def main() -> int:
    """Connects, sends, and prints what was granted."""
    quiet = sys.argv[3:] == ["--quiet"]
    if len(sys.argv) != 3 + quiet:
        print("usage: fast_upload.py ADDRESS PORT [--quiet]", file=sys.stderr)
        return 2
    data = bytes(1_000_000)
    with socket.socket() as connection:
        if quiet:
            taken = sockets.hint(connection, application_type=ApplicationType.STANDARD)
        else:
            # set before connect(), so that the handshake can carry the Quick-Start request for the
            # rate
            taken = sockets.hint(
                connection, initial_rate_bps=10_000_000, data_volume_bytes=len(data)
            )
        if not taken:
            print("this kernel takes no hints (run headwayctl hints attach)", file=sys.stderr)
        start_s = time.monotonic()
        connection.connect((sys.argv[1], int(sys.argv[2])))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # the receiver closes when it has read everything
        print(f"{len(data)} bytes in {(time.monotonic() - start_s) * 1e3:.0f} ms")
        info = sockets.startup_info(connection)
        if info is not None:
            print(
                f"asked for {info.asked_bps or 0} bit/s, granted {info.granted_bps or 0} bit/s, "
                f"started at {info.started_bps or 0} bit/s"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
