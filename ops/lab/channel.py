"""The control socket of one server process: a line of JSON in, a line of JSON out."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

Request = Mapping[str, Any]
Operation = Callable[[Request], Awaitable[dict[str, Any]]]

# A wire of 64 MB in base64 fits in one line.
LINE_BYTES = 96 * 1024 * 1024


async def listen(path: Path, operations: Mapping[str, Operation]) -> asyncio.Server:
    """Answer control calls at `path` for as long as the server lives."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await _answer(line, operations)).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # the caller went away; there is nobody left to tell
        finally:
            writer.close()

    return await asyncio.start_unix_server(converse, path, limit=LINE_BYTES)


async def _answer(line: bytes, operations: Mapping[str, Operation]) -> dict[str, Any]:
    """The operation's answer, or `{"error": ...}`: a bad call must not end the server."""
    try:
        request = json.loads(line)
        operation = operations[request["op"]]
        return await operation(request)
    except Exception as problem:  # noqa: BLE001 - told to the caller, who raises it
        return {"error": f"{type(problem).__name__}: {problem}"}
