"""Source code without its comments and docstrings, for digests: an edit of prose must not rerun or recompile anything.

It is cut by regular expressions, because parsing costs each process a second. Tests compare the result with `ast` for
every file of the library.
"""

import re
from pathlib import Path

_STRING = r'"(?:[^"\\\n]|\\.)*"' r"|'(?:[^'\\\n]|\\.)*'"
_TRIPLE = r'"""(?:[^"\\]|\\.|"(?!""))*"""' r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
_DOCSTRING = rf"[rR]?(?:{_TRIPLE})(?=[ \t]*(?:#|\n|\Z))"
# A docstring begins a file or follows the colon of a definition; any other string is kept.
_FIRST = re.compile(rf"(?:\s|#[^\n]*\n)*{_DOCSTRING}", re.DOTALL)
# Each alternative begins with a certain character, so that `re` skips the others twice as fast.
_PYTHON = re.compile(
    rf":(?P<gap>[ \t]*(?:#[^\n]*)?\n\s*){_DOCSTRING}|{_TRIPLE}|{_STRING}"
    r"|\n[ \t]*(?:#[^\n]*)?(?:\n[ \t]*(?:#[^\n]*)?)*(?=\n|\Z)| [ \t]*#[^\n]*|\t[ \t]*#[^\n]*|#[^\n]*",
    re.DOTALL,
)
_COMMENT = r"//[^\n]*|/\*.*?\*/"
_CUDA = re.compile(
    rf"(?P<string>{_STRING})|(?:\n[ \t]*(?:{_COMMENT})?[ \t]*)+(?=\n|\Z)|[ \t]*(?:{_COMMENT})", re.DOTALL
)


def bare_source(path: Path) -> str:
    """Read a Python or CUDA source file without comments, docstrings and blank lines."""
    text = path.read_text(encoding="utf-8")
    return bare_python(text) if path.suffix == ".py" else bare_cuda(text)


def bare_python(text: str) -> str:
    """Return Python source without comments and blank lines, its docstrings replaced by empty ones."""

    def kept(found: re.Match[str]) -> str:
        if found["gap"] is not None:
            indent = found["gap"].rpartition("\n")[2]
            return f':\n{indent}""""""'
        return found[0] if found[0][0] in "\"'" else ""

    if first := _FIRST.match(text):
        text = '""""""' + text[first.end() :]
    return _PYTHON.sub(kept, text).lstrip("\n")


def bare_cuda(text: str) -> str:
    """Return CUDA source without comments and blank lines."""
    return _CUDA.sub(lambda found: found["string"] or "", text).lstrip("\n")
