"""moto's S3 with the bucket `profiles`, until the end of stdin.

    s3.py

Prints its port. It accepts what is signed with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of
its environment, as S3 does, and reads (GET, HEAD) without a signature. Without these variables it accepts
everything.
"""

import datetime
import hashlib
import hmac
import io
import logging
import os
import sys
import urllib.parse
import urllib.request
import xml.sax.saxutils

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import ThreadedMotoServer

# Moto asks for the name of a key, and nothing more, before it lets anybody read.
NOBODY = "AWS4-HMAC-SHA256 Credential=nobody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
CLOCKS_MAY_DIFFER = datetime.timedelta(minutes=15)


class Refused(Exception):
    pass


class Signatures:
    """Checks signatures and hashes of bodies, which moto takes as they are."""

    def __init__(self, application, credentials):
        self.application = application
        self.credentials = credentials

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            if "HTTP_AUTHORIZATION" in environ:
                if self.credentials:
                    self.check(environ, body)
            elif not self.credentials or environ["REQUEST_METHOD"] in ("GET", "HEAD"):
                environ["HTTP_AUTHORIZATION"] = NOBODY
            else:
                raise Refused("AccessDenied", "the request is not signed")
        except Refused as refused:
            code, reason = refused.args
            text = f"<Error><Code>{code}</Code><Message>{xml.sax.saxutils.escape(reason)}</Message></Error>".encode()
            start_response("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(text)))])
            return [text]
        return self.application(environ, start_response)

    def check(self, environ, body):
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_") or name in ("CONTENT_TYPE", "CONTENT_LENGTH")
        }
        algorithm, _, rest = headers["authorization"].partition(" ")
        parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
        if algorithm != "AWS4-HMAC-SHA256" or sorted(parts) != ["Credential", "Signature", "SignedHeaders"]:
            raise Refused("InvalidRequest", f"the authorization is {headers['authorization']}")
        if parts["Credential"].count("/") != 4:
            raise Refused("AuthorizationHeaderMalformed", f"the scope is {parts['Credential']}")
        key, day, region, service, end = parts["Credential"].split("/")
        signed = parts["SignedHeaders"].split(";")

        if key != self.credentials.access_key:
            raise Refused("InvalidAccessKeyId", f"the key {key} is unknown")
        if headers.get("x-amz-security-token") != self.credentials.token:
            raise Refused("InvalidToken", "the session's token is another one")
        must = {"host"} | {name for name in headers if name.startswith("x-amz-") or name == "content-type"}
        if signed != sorted(signed) or not must <= set(signed):
            raise Refused("AccessDenied", f"the signed headers are {signed} of {sorted(headers)}")
        if not set(signed) <= set(headers):
            raise Refused("SignatureDoesNotMatch", f"signed headers are missing: {signed} of {sorted(headers)}")
        date = headers.get("x-amz-date", "")
        try:
            then = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        except ValueError:
            raise Refused("AccessDenied", f"x-amz-date is {date!r}") from None
        if abs(datetime.datetime.now(datetime.timezone.utc) - then) > CLOCKS_MAY_DIFFER:
            raise Refused("RequestTimeTooSkewed", f"the date is {date}")
        if (day, service, end) != (date[:8], "s3", "aws4_request"):
            raise Refused("AuthorizationHeaderMalformed", f"the scope is {parts['Credential']}")
        if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            raise Refused("XAmzContentSHA256Mismatch", f"the hash is {headers.get('x-amz-content-sha256')}")

        # S3 signs the path that it has decoded, encoded anew: all but letters, digits and -_.~/.
        path = urllib.parse.quote(environ["PATH_INFO"].encode("latin-1"), safe="/-_.~")
        query = urllib.parse.parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        auth = S3SigV4Auth(self.credentials, "s3", region)
        request = AWSRequest(
            method=environ["REQUEST_METHOD"],
            url=f"http://{headers['host']}{path}",
            params=query,
            headers={name: headers[name] for name in signed},
        )
        request.context["timestamp"] = date
        canonical = auth.canonical_request(request)
        signature = auth.signature(auth.string_to_sign(request, canonical), request)
        if not hmac.compare_digest(signature, parts["Signature"]):
            raise Refused("SignatureDoesNotMatch", f"the canonical request is {canonical!r}")


logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
port = server.get_host_and_port()[1]
bucket = urllib.request.Request(f"http://127.0.0.1:{port}/profiles", method="PUT")
urllib.request.urlopen(bucket).close()
credentials = None
if "AWS_ACCESS_KEY_ID" in os.environ:
    credentials = Credentials(
        os.environ["AWS_ACCESS_KEY_ID"],
        os.environ["AWS_SECRET_ACCESS_KEY"],
        os.environ.get("AWS_SESSION_TOKEN"),
    )
server._server.app = Signatures(server._server.app, credentials)
print(port, flush=True)
sys.stdin.read()
