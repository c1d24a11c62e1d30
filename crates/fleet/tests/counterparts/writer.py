"""Profiles itself with Pyroscope's own client for some seconds, and delivers each second to URL.

    writer.py URL [SECONDS]
"""

import sys
import time

import pyroscope

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 3


def busy(seconds):
    end = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < end:
        turns += sum(range(1000)) > 0
    return turns


pyroscope.configure(
    application_name="counterpart",
    server_address=sys.argv[1],
    tags={"team": "shop"},
    upload_interval=1,
)
busy(SECONDS)
pyroscope.shutdown()
