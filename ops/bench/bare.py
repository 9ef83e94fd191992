"""The bare exchange: a Celery task that looks one name up and fetches one page, with no guard, no ledger, no account.

The same parts as web_fetch's (the fleet's Celery, two datagrams, one fresh libcurl handle) and not a line of ours: what
any fetcher made of these parts costs at least. The lab's name server answers; outside the lab the task is not used.
"""

import os
import socket
from io import BytesIO
from urllib.parse import urlsplit

import certifi
import pycurl

from broker.app import app

_TYPES = {"AAAA": 28, "A": 1}
_NAMESERVER = ("127.0.0.1", 53)
_RECURSE, _INTERNET = 0x0100, 1
_PATIENCE_SECONDS = 5.0


@app.task(name="bench_bare")
def fetched(arguments: dict[str, str], context: dict[str, str]) -> None:
    """Fetch and forget. Takes web_fetch's message, so that sending and reading it cost the same."""
    del context
    place = urlsplit(arguments["url"])
    host = place.hostname or ""
    _looked_up(host, "AAAA")
    address = socket.inet_ntop(socket.AF_INET, _looked_up(host, "A")[-4:])
    body = BytesIO()
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, place.geturl())
    curl.setopt(pycurl.RESOLVE, [f"{host}:{443 if place.scheme == 'https' else 80}:{address}"])
    curl.setopt(pycurl.WRITEDATA, body)
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.CAINFO, os.environ.get("SSL_CERT_FILE") or certifi.where())
    curl.perform()
    curl.close()


def _looked_up(host: str, family: str) -> bytes:
    """The answer as it came: the lab's end with their last address."""
    query_id = os.urandom(2)
    labels = b"".join(bytes((len(label),)) + label.encode() for label in host.split("."))
    header = query_id + _RECURSE.to_bytes(2, "big") + (1).to_bytes(2, "big") + bytes(6)
    question = labels + b"\0" + _TYPES[family].to_bytes(2, "big") + _INTERNET.to_bytes(2, "big")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(_PATIENCE_SECONDS)
        line.connect(_NAMESERVER)
        line.send(header + question)
        return line.recv(4096)
