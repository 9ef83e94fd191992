"""A model that says what a test tells it, over HTTP on loopback: OpenAI's completions, Anthropic's messages."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Usage = dict[str, Any] | None
KEY = "model-key-kept-secret"


def used(given: int, made: int) -> dict[str, Any]:
    """What a request used, as providers tell it."""
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


@dataclass(frozen=True, slots=True)
class Say:
    """One reply. Shape: `calls` are tools with their arguments; without any the model is done."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    words: str | None = None
    usage: Usage = field(default_factory=lambda: used(1_000, 100))
    status: int = 200
    wait: Event | None = None


@dataclass(slots=True)
class Model:
    """The server: what it answers, and every request that it saw."""

    url: str = ""
    answer: Callable[[dict[str, Any]], Say] = lambda _asked: Say(words="Nothing to say.")
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def plays(self, answer: Callable[[dict[str, Any]], Say]) -> None:
        """Answer like this from now on."""
        self.answer, self.asked = answer, []


def results(asked: dict[str, Any]) -> list[Any]:
    """What the tools gave so far, in the order of the conversation."""
    return [_read(message["content"]) for message in asked["messages"] if message["role"] == "tool"]


def _read(content: Any) -> Any:
    try:
        return json.loads(content)
    except (TypeError, ValueError):
        return content


@contextmanager
def serving_model() -> Iterator[Model]:
    """A model server while the block runs."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.asked.append(asked)
            model.keys.add(self.headers["X-Api-Key"] or self.headers["Authorization"].removeprefix("Bearer "))
            said = model.answer(asked)
            if said.wait is not None:
                said.wait.wait(60)
            body = json.dumps(
                (_message if self.path.endswith("/messages") else _completion)(said, len(model.asked))
            ).encode()
            try:
                self.send_response(said.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                return  # the client was killed, or its time is over

        def log_message(self, *_words: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _message(said: Say, number: int) -> dict[str, Any]:
    content = [{"type": "text", "text": said.words}]
    told = {"id": f"message-{number}", "type": "message", "role": "assistant", "model": "scripted", "content": content}
    return told | {"stop_reason": "end_turn", "stop_sequence": None, "usage": said.usage}


def _completion(said: Say, number: int) -> dict[str, Any]:
    if said.status != 200:
        return {"error": {"message": "The model fell over.", "type": "server_error"}}
    calls = [
        {
            "id": f"call-{number}-{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(said.calls)
    ]
    message = {"role": "assistant", "content": said.words} | ({"tool_calls": calls} if calls else {})
    completion = {
        "id": f"completion-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
    }
    return completion if said.usage is None else completion | {"usage": said.usage}
