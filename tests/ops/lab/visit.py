"""Runs inside a lab: one raw GET for each URL of the command line, told as a line of JSON each."""

import base64
import json
import os
import socket
import ssl
import sys
from urllib.parse import urlsplit


def visit(url: str) -> dict[str, object]:
    """What came back: peer, bytes until the end, and how it ended."""
    place = urlsplit(url)
    told: dict[str, object] = {"url": url, "error": None, "peer": None}
    received = bytearray()
    try:
        port = place.port or {"http": 80, "https": 443}[place.scheme]
        with socket.create_connection((place.hostname, port), timeout=2) as plain:
            told["peer"] = plain.getpeername()[0]
            line = plain
            if place.scheme == "https":
                trust = ssl.create_default_context(cafile=os.environ["OUTRIDER_CA_FILE"])
                # A reset under TLS reads like an end without goodbye, which must not pass for a good end.
                line = trust.wrap_socket(plain, server_hostname=place.hostname, suppress_ragged_eofs=False)
            with line:
                path = (place.path or "/") + (f"?{place.query}" if place.query else "")
                words = (
                    f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
                )
                line.sendall(words.encode())
                while len(received) < 4_000_000 and (part := line.recv(65536)):
                    received += part
    except OSError as problem:
        told["error"] = f"{type(problem).__name__}: {problem}"
    told["wire"] = base64.b64encode(received).decode()
    return told


if __name__ == "__main__":
    for each in sys.argv[1:]:
        sys.stdout.write(json.dumps(visit(each)) + "\n")
