"""Azurite, Microsoft's server for tests of Azure's blobs, with the container `profiles`, until the end of stdin.

    azure.py AZURITE

AZURITE is the folder of tools/setup.sh. Prints the server's port. It accepts what is signed with AZURE_STORAGE_ACCOUNT_KEY
of its environment, which is Azurite's own.
"""

import base64
import ctypes
import email.utils
import hashlib
import hmac
import os
import re
import signal
import subprocess
import sys
import urllib.request

ACCOUNT = "devstoreaccount1"
VERSION = "2021-08-06"
PR_SET_PDEATHSIG = 1

folder = sys.argv[1]
server = subprocess.Popen(
    [
        f"{folder}/node",
        f"{folder}/node_modules/azurite/dist/src/blob/main.js",
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--silent",
        "--blobPort",
        "0",
    ],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    text=True,
    # It ends with this script, also if that is killed.
    preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
)
for line in server.stdout:
    if listens := re.search(r"listens on http://127\.0\.0\.1:(\d+)", line):
        break
else:
    sys.exit("Azurite has ended")
port = listens[1]
date = email.utils.formatdate(usegmt=True)
text = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{VERSION}\n/{ACCOUNT}/{ACCOUNT}/profiles\nrestype:container"
key = base64.b64decode(os.environ["AZURE_STORAGE_ACCOUNT_KEY"])
signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
headers = {"x-ms-date": date, "x-ms-version": VERSION, "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
url = f"http://127.0.0.1:{port}/{ACCOUNT}/profiles?restype=container"
urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers)).close()
print(port, flush=True)
sys.stdin.read()
