"""Runs inside a lab: the product's own guarded fetch of each URL, its end told as a line of JSON."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from schemas.deadline import Deadline
from schemas.destination import Destination
from schemas.errors import OutriderError
from schemas.profiles import WEB_FETCH
from schemas.receipt import Journal
from schemas.reply import Ask
from workers.net.fetch import fetch, road

SECONDS = 4
ROAD = road(nameservers=(os.environ["OUTRIDER_NAMESERVERS"],), ca_file=Path(os.environ["OUTRIDER_CA_FILE"]))


def walk(url: str) -> str:
    """`ok`, or the code of the error."""
    try:
        fetch(Destination.parse(url), Ask(), WEB_FETCH.limits, ROAD, Deadline.after(SECONDS), Journal())
    except OutriderError as end:
        return end.code
    return "ok"


if __name__ == "__main__":
    with ThreadPoolExecutor(12) as pool:
        for url, code in zip(sys.argv[1:], pool.map(walk, sys.argv[1:]), strict=True):
            sys.stdout.write(json.dumps([url, code]) + "\n")
