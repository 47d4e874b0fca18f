# SPDX-License-Identifier: Apache-2.0
"""Language models as functions. Anything that takes a prompt and returns a text is a model; `chat` is one that is ready."""

from __future__ import annotations

import email.utils
import http.client
import json
import math
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any

from .errors import BadInput, Failed

__all__ = ["Chat", "Reply", "chat"]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MOST_REPLY_BYTES = 16 << 20


class Reply(str):
    """A model's text, with what the server says of it."""

    prompt_tokens, completion_tokens, finish_reason = 0, 0, ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request: Any, fp: Any, code: int, message: str, headers: Any, url: str) -> None:
        raise Failed(f"The server redirects to {url}; redirects are not followed. Give that address if it is right.")


class Chat:
    """A model behind the chat-completions protocol. Call it with a prompt, or with a list of messages."""

    takes_messages = True

    def __init__(self, url: str, model: str, key_env: str | None, timeout: float, attempts: int, backoff: float,
                 settings: dict[str, Any]) -> None:
        self.model, self.timeout, self.attempts, self.backoff, self.settings = model, timeout, attempts, backoff, settings
        self.__name__, parts = f"chat({model})", urllib.parse.urlsplit(url)
        is_loopback = parts.hostname in _LOOPBACK
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment or attempts < 1:
            raise BadInput("The address must be https://host/v1 or http://host/v1, without a name, a password or a '#', and "
                           f"attempts at least 1; attempts are {attempts}.")
        path = parts.path.rstrip("/")
        path += "" if path.endswith("/chat/completions") else "/chat/completions"
        self._url, self._shown = parts._replace(path=path).geturl(), parts._replace(path=path, query="").geturl()
        self._key = os.environ.get(key_env, "") if key_env else ""
        if key_env and not self._key and not is_loopback:
            raise BadInput(f"The environment variable {key_env}, which has the key for {self._shown}, is not set. Set it, or "
                           "name another by key_env; None sends no key.")
        if self._key and parts.scheme == "http" and not is_loopback:
            raise BadInput(f"{self._shown} would send the key in {key_env} unencrypted. Use https, or key_env=None.")
        if not self._key.isascii() or any(one <= " " for one in self._key):
            raise BadInput(f"The key in {key_env} has a blank, a line end or another character that a header cannot have.")
        self._opener = urllib.request.build_opener(_NoRedirects, *([urllib.request.ProxyHandler({})] if is_loopback else []))

    def __repr__(self) -> str:
        return f"<yolk.models.chat {self.model} at {self._shown}>"

    def __call__(self, prompt: str | Sequence[dict[str, str]], **settings: Any) -> Reply:
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        body = json.dumps({"model": self.model, "messages": messages, **self.settings, **settings}).encode()
        deadline, pause = time.monotonic() + self.timeout, self.backoff
        for attempt in range(1, self.attempts + 1):
            told, wait = self._asked(body, deadline)
            if isinstance(told, Reply):
                return told
            pause_now = max(wait, pause * random.uniform(0.5, 1.0))
            if attempt == self.attempts or time.monotonic() + pause_now >= deadline:
                raise Failed(f"{self._shown} gave no answer after {attempt} attempts; the last one: {told}")
            time.sleep(pause_now)
            pause = min(30.0, 2.0 * pause)
        raise AssertionError

    def _asked(self, body: bytes, deadline: float) -> tuple[Any, float]:
        """A reply; or why there is none yet, and how many seconds the server wants to be left alone. Raises Failed for good."""
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self._key}"} if self._key else {})}
        try:
            request = urllib.request.Request(self._url, body, headers)
            with self._opener.open(request, timeout=max(0.001, deadline - time.monotonic())) as answer:
                text = self._read(answer, deadline)
            document = json.loads(text)
            if (status := _status_in(document)) is not None:
                return self._judged(status, "in a reply of status 200", text.decode(errors="replace")), 0.0
            return self._reply_of(document), 0.0
        except urllib.error.HTTPError as error:
            words = error.read(2000).decode(errors="replace")
            return self._judged(error.code, error.reason, words), _pause_in(error.headers)
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError,
                http.client.HTTPException) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Failed(f"The certificate of {self._shown} is not trusted; nothing was sent. {error}") from None
            return f"{type(error).__name__}: {error}", 0.0

    def _read(self, answer: Any, deadline: float) -> bytes:
        parts: list[bytes] = []
        while part := answer.read1(1 << 16):
            parts.append(part)
            if sum(map(len, parts)) > _MOST_REPLY_BYTES:
                raise Failed(f"A reply of {self._shown} is larger than {_MOST_REPLY_BYTES >> 20} MiB; the rest is not read.")
            if time.monotonic() > deadline:
                raise TimeoutError("the reply did not end in time")
        return b"".join(parts)

    def _judged(self, status: int, reason: str, words: str) -> str:
        """Why there is no answer yet; Failed where the next will be the same."""
        told = f"{status} {reason}: {words.replace(self._key, '(the key)') if self._key else words}"
        if status not in (408, 429) and status < 500 or "insufficient_quota" in words:
            raise Failed(f"{self._shown} refused the request: {told}")
        return told

    def _reply_of(self, document: Any) -> Reply | str:
        choice = document["choices"][0]
        message, why = choice["message"], choice.get("finish_reason") or ""
        text, refusal = _text_in(message.get("content"))
        refusal = message.get("refusal") or refusal
        if refusal:
            raise Failed(f"The model refused: {refusal}")
        if text is None:
            why = why or ("tool_calls" if message.get("tool_calls") else "")
            if why in ("length", "content_filter", "tool_calls"):
                raise Failed(f"The reply has no text: it ended by '{why}'.")
            return "a reply without a text"
        reply, usage = Reply(text), document.get("usage") or {}
        reply.prompt_tokens, reply.completion_tokens = int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))
        reply.finish_reason = why
        return reply


def _text_in(content: Any) -> tuple[str | None, str]:
    """The text and the refusal of a content. One that is a list has those of its parts, without thoughts and pictures."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None, ""
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    texts = [part["text"] for part in parts if part.get("type", "text") in ("text", "output_text") and "text" in part]
    return "".join(texts) if texts else None, "".join(part.get("refusal", "") for part in parts)


def _status_in(document: Any) -> int | None:
    """Some servers send errors with status 200: the status that such a body names, or 500."""
    error = document.get("error") if isinstance(document, dict) and "choices" not in document else None
    if error is None:
        return None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _pause_in(headers: Any) -> float:
    """Seconds that the server names, by a number or by a date; 0 for what is past, or no time at all."""
    try:
        after = headers.get("Retry-After", "0")
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif after[:1].isalpha():
            seconds = email.utils.parsedate_to_datetime(after).timestamp() - time.time()
        else:
            seconds = float(after)
    except (TypeError, ValueError):
        return 0.0
    return seconds if 0.0 < seconds < math.inf else 0.0


def chat(url: str = "https://api.openai.com/v1", model: str = "", *, key_env: str | None = "OPENAI_API_KEY",
         timeout: float = 120.0, attempts: int = 5, backoff: float = 0.5, **settings: Any) -> Chat:
    """A model behind the chat-completions protocol, over Python's own HTTP and TLS.

        small = yolk.models.chat("http://127.0.0.1:8000/v1", "small", temperature=0.2)
        small("Name a colour.")

    url       requests go to it and /chat/completions; redirects are not followed
    key_env   the environment variable with the key, which is sent by https or to this machine, and shown nowhere
    timeout   of a call with its retries, in seconds; attempts: at most. 408, 429, 5xx, connections that break and
              replies that are cut are tried again, after `backoff` seconds, doubled up to 30, or the server's Retry-After
    settings  sent with each request: temperature, top_p, max_tokens, seed, stop, ...
    Raises BadInput for an address or a key that cannot be used, Failed where there is no answer.
    """
    return Chat(url, model, key_env, timeout, attempts, backoff, settings)
