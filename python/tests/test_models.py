# SPDX-License-Identifier: Apache-2.0
import email.utils
import http.server
import json
import shutil
import subprocess
import threading
import time

import pytest

import yolk
from yolk import _core

pytestmark = pytest.mark.once  # of no device

KEY = "sk-1234567890abcdef"


def reply(text, why="stop"):
    return 200, {"choices": [{"message": {"content": text}, "finish_reason": why}],
                 "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


@pytest.fixture
def server():
    """A server on loopback that gives what it is told to, one after the other, the last again and again."""
    seen, script = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, dict(self.headers), json.loads(body)))
            status, document, *headers = script[min(len(seen), len(script)) - 1]
            if document is None:
                return self.connection.close()
            sent = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *arguments):
            pass

    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    service.url, service.seen, service.script = f"http://127.0.0.1:{service.server_port}/v1", seen, script
    yield service
    service.shutdown()
    service.server_close()


def quick(server, **settings):
    return yolk.models.chat(server.url, "small", **{"backoff": 0.01, "key_env": None, **settings})


def test_a_prompt_is_sent_and_its_reply_read(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script[:] = [reply("blue")]
    told = quick(server, key_env="OPENAI_API_KEY", temperature=0.5)("Name a colour.", seed=3)
    path, headers, body = server.seen[0]
    assert told == "blue" and (told.prompt_tokens, told.completion_tokens, told.finish_reason) == (7, 2, "stop")
    assert path == "/v1/chat/completions" and headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "small", "temperature": 0.5, "seed": 3, "messages": [{"role": "user", "content": "Name a colour."}]}


def test_a_system_s_messages_keep_their_roles_and_tokens_count(server):
    server.script[:] = [reply("7")]
    prompt = yolk.hyperfunction("Give the code.", name="prompt")(lambda text: text)
    system = yolk.System(lambda x: yolk.model_call(("system", prompt()), ("user", x), temperature=0.25))
    system.use_model(quick(server))
    outcome = system.optimize_prompts([({"x": "red"}, "8")] * 2, yolk.metrics.exact_match(),
                                      lambda prompt: "```\nother\n```", iterations=2)
    assert server.seen[0][2]["messages"] == [{"role": "system", "content": "Give the code."}, {"role": "user", "content": "red"}]
    assert server.seen[0][2]["temperature"] == 0.25
    assert outcome.tokens >= 9 * len(server.seen)


@pytest.mark.parametrize("first", [(429, {}, ("Retry-After", "0")), (500, {"error": "busy"}), (503, b""), (408, b""),
                                   (200, b"{cut"), (200, {"choices": []}), (200, None), reply(None),
                                   (200, b"[" * 200000), (200, {"error": {"message": "busy"}}), (200, {"choices": [3]})])
def test_what_may_pass_is_tried_again(server, first):
    server.script[:] = [first, reply("at last")]
    assert quick(server)("?") == "at last" and len(server.seen) == 2


def test_the_server_s_pause_is_kept(server):
    server.script[:] = [(429, {}, ("Retry-After", "1")), reply("at last")]
    started = time.monotonic()
    assert quick(server)("?") == "at last" and time.monotonic() - started >= 1


@pytest.mark.parametrize("answer, words", [
    ((400, {"error": {"message": "no such model"}}), "no such model"),
    ((401, {"error": f"bad key {KEY}"}), r"bad key \(the key\)"),
    ((429, {"error": {"code": "insufficient_quota"}}), "insufficient_quota"),
    ((307, {}, ("Location", "http://127.0.0.1:9/elsewhere")), "redirects to"),
    (reply(None, "length"), "ended by 'length'"),
    ((200, {"error": {"message": "no money", "code": 402}}), "402 in a reply of status 200.*no money"),
    (reply([{"type": "refusal", "refusal": "I will not"}]), "The model refused: I will not"),
    ((200, {"choices": [{"message": {"content": None, "refusal": "No."}}]}), "The model refused: No"),
    ((200, {"choices": [{"message": {"content": None, "tool_calls": [{"id": "1"}]}}]}), "ended by 'tool_calls'"),
])
def test_what_will_stay_is_an_error_at_once(server, monkeypatch, answer, words):
    monkeypatch.setenv("MY_KEY", KEY)
    server.script[:] = [answer]
    with pytest.raises(yolk.Failed, match=words) as caught:
        quick(server, key_env="MY_KEY")("?")
    assert len(server.seen) == 1 and KEY not in str(caught.value)


@pytest.mark.parametrize("content, text", [
    (["hel", {"type": "text", "text": "lo"}, {"type": "thinking", "thinking": "hm"}], "hello"),
    ([{"type": "output_text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "x"}}], "hello"),
])
def test_content_in_parts_is_the_text_of_its_parts(server, content, text):
    server.script[:] = [reply(content)]
    assert quick(server)("?") == text and len(server.seen) == 1


def test_a_pause_is_a_number_or_a_date_and_never_shortens_the_backoff(server):
    for after in (("Retry-After", "0"), ("Retry-After", "-5"), ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),
                  ("Retry-After", "soon"), ("Retry-After", "1e400"), ("retry-after-ms", "0")):
        server.seen.clear()
        server.script[:] = [(429, {}, after), reply("at last")]
        started = time.monotonic()
        assert quick(server, backoff=0.4)("?") == "at last" and time.monotonic() - started >= 0.2
    server.seen.clear()
    server.script[:] = [(429, {}, ("Retry-After", email.utils.formatdate(time.time() + 2.5, usegmt=True))), reply("at last")]
    started = time.monotonic()
    assert quick(server)("?") == "at last" and time.monotonic() - started >= 1


def test_a_reply_that_does_not_end_or_is_huge_is_given_up(monkeypatch):
    class Endless(http.server.BaseHTTPRequestHandler):
        pause = 0.0

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * (1 if self.pause else 1 << 20))
                    time.sleep(self.pause)
            except OSError:
                pass

        def log_message(self, *arguments):
            pass

    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    asked = yolk.models.chat(f"http://127.0.0.1:{service.server_port}/v1", "small", key_env=None, timeout=1.0)
    with pytest.raises(yolk.Failed, match="larger than 16 MiB"):
        asked("?")
    Endless.pause = 0.05
    started = time.monotonic()
    with pytest.raises(yolk.Failed, match="did not end in time"):
        asked("?")
    assert time.monotonic() - started < 5
    service.shutdown()
    service.server_close()


def test_attempts_and_time_are_limited(server):
    server.script[:] = [(500, {"error": "busy"})]
    with pytest.raises(yolk.Failed, match="after 3 attempts.*busy"):
        quick(server, attempts=3)("?")
    with pytest.raises(yolk.Failed, match="after 1 attempts"):
        yolk.models.chat(server.url, "small", key_env=None, timeout=0.3, backoff=5)("?")


def test_addresses_and_keys_are_checked(monkeypatch):
    monkeypatch.delenv("NO_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("BAD_KEY", "two\nlines")
    for url in ("", "example.com/v1", "ftp://example.com", "https://me:secret@example.com/v1", "https://example.com/v1#part"):
        with pytest.raises(yolk.BadInput, match="https://host/v1"):
            yolk.models.chat(url, "small", key_env=None)
    with pytest.raises(yolk.BadInput, match="NO_KEY.*is not set"):
        yolk.models.chat("https://example.com/v1", "small", key_env="NO_KEY")
    with pytest.raises(yolk.BadInput, match="unencrypted"):
        yolk.models.chat("http://example.com/v1", "small", key_env="MY_KEY")
    with pytest.raises(yolk.BadInput, match="a line end"):
        yolk.models.chat("https://example.com/v1", "small", key_env="BAD_KEY")
    assert KEY not in repr(yolk.models.chat("https://example.com/v1", "small", key_env="MY_KEY"))


def test_the_extension_links_no_tls_and_no_database():
    if shutil.which("readelf") is None:
        pytest.skip("readelf (binutils) is not installed")
    needed = subprocess.run(["readelf", "-d", _core.__file__], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in needed
    assert not [name for name in ("curl", "ssl", "crypto", "gnutls", "sqlite", "libvulkan") if name in needed]
