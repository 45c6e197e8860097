"""Uploads a megabyte and tells Headway beforehand how much and how fast.

python examples/fast_upload.py 192.0.2.1 9000
"""

import socket
import sys

from headway import sockets


def main() -> int:
    """Connects, sends, and says what was granted."""
    if len(sys.argv) != 3:
        print("usage: fast_upload.py ADDRESS PORT", file=sys.stderr)
        return 2
    data = bytes(1_000_000)
    with socket.socket() as connection:
        # before connect(), so that the handshake can ask the path for the rate
        taken = sockets.hint(connection, initial_rate_bps=10_000_000, data_volume_bytes=len(data))
        if not taken:
            print("nobody takes hints (headwayctl hints attach)", file=sys.stderr)
        connection.connect((sys.argv[1], int(sys.argv[2])))
        connection.sendall(data)
        info = sockets.startup_info(connection)
        if info is not None:
            granted = info.granted_bps or 0
            print(f"asked for {info.asked_bps or 0} bit/s, granted {granted} bit/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
