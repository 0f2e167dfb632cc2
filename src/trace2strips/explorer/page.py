"""The explorer's page: the built script and style with the data in one file that loads nothing else.

Names come from logs, so they are a stranger's text. The data stand in a block that no browser executes, escaped so that
nothing in them can end it, and a policy lets the browser run this very script and apply this very style alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from trace2strips.errors import printable

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; connect-src {connect};"
    " base-uri 'none'; form-action 'none'"
)
# Cytoscape makes a <style> of its own, which the policy would refuse, unless there is one by this name.
STYLE_NAME = "__________cytoscape_stylesheet"


@cache
def read_bundle(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """As a content security policy names what may be run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def as_data(record: Mapping[str, Any]) -> str:
    """JSON in ASCII that HTML takes for text whatever is in it."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def format_explorer(record: Mapping[str, Any]) -> str:
    """The whole page. It asks the server that it came from, and nobody else, if the record says that there is one."""
    script, style = read_bundle("bundle.js"), read_bundle("bundle.css")
    connect = "'none'" if record.get("serve") is None else "'self'"
    policy = POLICY.format(script=hash_of(script), style=hash_of(style), connect=connect)
    title = escape(printable(str(record["title"])))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title} · world explorer</title>
<style id="{STYLE_NAME}">{style}</style>
</head>
<body>
<div id="explorer"><noscript><p>The explorer is a program: it needs JavaScript.</p></noscript></div>
<script type="application/json" id="data">{as_data(record)}</script>
<script>{script}</script>
</body>
</html>
"""


def format_frame(page: str) -> str:
    """The page inside another one, as a notebook shows it: with scripts, and without access to anything around it."""
    return (
        f'<iframe title="world explorer" sandbox="allow-scripts allow-downloads" srcdoc="{escape(page)}"'
        ' style="width: 100%; height: 46rem; border: 1px solid #8884; border-radius: 8px"></iframe>'
    )
