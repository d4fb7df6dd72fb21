"""The form for the token: a page of its own, since the page and its files need the token."""

from __future__ import annotations

import base64
import hashlib

from stream_metrics.monitor.serve.security import LOGIN

__all__ = ["PAGE", "POLICY"]

STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"
    "body{display:grid;place-content:center;min-height:90vh;margin:1rem}"
    "form{display:grid;gap:.75rem;width:min(20rem,90vw)}"
    "h1{font-size:1.1rem;margin:0}input,button{font:inherit;padding:.5rem}"
)
PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Token</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
<form method="post" action="{LOGIN}">
  <h1>This monitor needs its token</h1>
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <button type="submit">Show the page</button>
</form>
</html>
""".encode()
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
