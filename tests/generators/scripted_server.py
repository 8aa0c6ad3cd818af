"""A model on a loopback port: answers like an OpenAI-compatible server, from a script.

Not run by itself. serve({"clerk": [reply, ...], ...}) gives the address of the
server; ADDRESS/clerk then answers each request with the next reply of the clerk.
A reply is a text, or the fields of an assistant message.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

USAGE = {"prompt_tokens": 61, "completion_tokens": 17, "total_tokens": 78}


def serve(scripts):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.scripts = {name: list(replies) for name, replies in scripts.items()}
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def tool_calls(*calls):
    """A reply with tool calls, given as (id, name, arguments)."""
    return {
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    }


class Answers(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.scripts[self.path.split("/")[1]].pop(0)
        message = {"content": reply} if isinstance(reply, str) else {"content": None, **reply}
        message["role"] = "assistant"
        frame = {"id": "chatcmpl-1", "created": 1700000000, "model": request["model"]}
        if request.get("stream"):
            self.send("text/event-stream", "".join(events(frame, message)))
        else:
            self.send("application/json", json.dumps(completion(frame, message)))

    def send(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Be silent."""


def reason(message):
    return "tool_calls" if message.get("tool_calls") else "stop"


def completion(frame, message):
    choice = {"index": 0, "finish_reason": reason(message), "message": message}
    return {**frame, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def events(frame, message):
    """The message word by word (or all its tool calls at once), the end, the usage."""
    frame = {**frame, "object": "chat.completion.chunk"}
    if message.get("tool_calls"):
        calls = [{**call, "index": index} for index, call in enumerate(message["tool_calls"])]
        deltas = [{"role": "assistant", "content": None, "tool_calls": calls}]
    else:
        deltas = [{"role": "assistant", "content": word + " "} for word in message["content"].split()]
    for delta in deltas:
        yield event(frame, choices=[{"index": 0, "delta": delta, "finish_reason": None}])
    yield event(frame, choices=[{"index": 0, "delta": {}, "finish_reason": reason(message)}])
    yield event(frame, choices=[], usage=USAGE)
    yield "data: [DONE]\n\n"


def event(frame, **fields):
    return f"data: {json.dumps({**frame, **fields})}\n\n"
