"""Wrappers of a browser, axe-core, MultiQC and pdftotext, if `make page-tools` or the system installed them."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / ".page-tools"  # made by `make page-tools`
AXE = FOLDER / "node_modules/axe-core/axe.min.js"
MULTIQC = FOLDER / "multiqc/bin/multiqc"
CHROMIUM = shutil.which("chromium")
PDFTOTEXT = shutil.which("pdftotext")

# Boxes that reach beyond the right edge of the page, except those that an enclosing box scrolls or cuts.
_SEEN = """
const beyond = [...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  for (let around = one.parentElement; around; around = around.parentElement)
    if (["auto", "scroll", "hidden"].includes(getComputedStyle(around).overflowX)) return false;
  return true;
}).map((one) => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 40)}`);
const told = {width: innerWidth, refused: window.refused ?? [], scroll: document.documentElement.scrollWidth, beyond,
              dark: matchMedia("(prefers-color-scheme: dark)").matches};
"""
_LISTEN = """
window.refused = [];
addEventListener("securitypolicyviolation", (one) => refused.push(one.effectiveDirective));
"""
_TELL = "parent.postMessage(JSON.stringify(told), '*');"


def look(page: Path, folder: Path, width: int, script: str = "", dark: bool = False) -> dict[str, Any]:
    """Load a page in a frame of a width (px); return what its scripts collect: `_SEEN`, and additions to `told`.

    A frame is needed because Chromium's windows are at least 500 px wide. The page's Content-Security-Policy stays in
    force and only allows the collecting scripts as well; `refused` has the directives that it enforced.
    """
    inside, around = folder / "inside.html", folder / "around.html"
    tell = f"addEventListener('load', async () => {{ {_SEEN} {script} {_TELL} }});"
    text = page.read_text()
    assert "</body>" in text
    text = text.replace("script-src ", f"script-src {_source(tell)} {_source(_LISTEN)} ", 1)
    text = re.sub("(?=<meta name|<body>)", lambda _: f"<script>{_LISTEN}</script>", text, count=1)
    inside.write_text(text.replace("</body>", f"<script>{tell}</script></body>"))
    write = "onmessage = (told) => { document.getElementById('told').textContent = told.data; };"
    around.write_text(
        f"<!doctype html><style>body {{margin: 0}} iframe {{border: 0; width: {width}px; height: 4000px}}</style>"
        f"<pre id=told></pre><script>{write}</script><iframe src=inside.html></iframe>"
    )
    scheme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    size = f"--window-size={max(width, 500)},1000"
    said = chromium(folder, around, size, *scheme, "--virtual-time-budget=60000", "--dump-dom")
    found = re.search(r'<pre id="?told"?>(.*?)</pre>', said, re.DOTALL)
    assert found, said[-2000:]
    assert found[1], "the page told nothing"
    told: dict[str, Any] = json.loads(html.unescape(found[1]))
    return told


def _source(script: str) -> str:
    """Return the expression that allows a script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def console(folder: Path, page: Path) -> list[str]:
    """Return the lines that Chromium writes to the console of a page."""
    said = _chromium(folder, page, "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom").stderr
    return [line for line in said.splitlines() if "CONSOLE" in line]


def chromium(folder: Path, page: Path, *arguments: str) -> str:
    """Return the output of headless Chromium for a page, with its own profile in a folder."""
    return _chromium(folder, page, *arguments).stdout


def _chromium(folder: Path, page: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
    ]
    command = [CHROMIUM, *fixed, *arguments, page.absolute().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def words_of_print(page: Path, folder: Path) -> Counter[str]:
    """Count the words on the printed pages; text outside the paper is not counted."""
    assert PDFTOTEXT is not None
    command = [PDFTOTEXT, "-raw", str(_printed(page, folder)), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Counter(text.split())


def pages_of_print(page: Path, folder: Path) -> int:
    """Count the printed pages."""
    return _printed(page, folder).read_bytes().count(b"/Type /Page\n")


def _printed(page: Path, folder: Path) -> Path:
    printed = folder / "page.pdf"
    chromium(folder, page, f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    return printed
