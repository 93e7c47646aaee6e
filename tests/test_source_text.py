"""Digests of sources ignore comments and docstrings, and nothing else: compared with `ast` and `tokenize`."""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from quire import sources
from quire.source_text import bare_cuda, bare_python
from quire.sources import SCRIPTS

from tests.support.examples import examples

FILES = sorted([*SCRIPTS.rglob("*.py"), *Path(__file__).parent.rglob("*.py")])


def without_docstrings(text: str) -> str:
    """Return the syntax tree of a module, its docstrings emptied or added empty."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                first.value.value = ""
    return ast.dump(tree)


def docstrings(text: str) -> list[str]:
    """Return all docstrings of a module that are not empty."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [
        found for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and (found := ast.get_docstring(node))
    ]


def test_every_source_keeps_its_code_and_loses_its_prose() -> None:
    for path in FILES[:: len(FILES) // examples(len(FILES))]:
        text = path.read_text()
        bare = bare_python(text)
        assert without_docstrings(bare) == without_docstrings(text), path
        assert docstrings(bare) == [], path
        tokens = tokenize.generate_tokens(io.StringIO(bare).readline)
        assert not any(token.type == tokenize.COMMENT for token in tokens), path


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ('"""Module."""\nx = 1  # one\n', '""""""\nx = 1'),
        ("# first\n\nx = 1\n\n\n# second\ny = 2\n", "x = 1\ny = 2"),
        ('def f():  # why\n    """Do."""\n    return "#"\n', 'def f():\n    """"""\n    return "#"'),
        ('x = """# kept\n\n"""\n', 'x = """# kept\n\n"""'),
        ("x = 'a\\'# kept'\n", "x = 'a\\'# kept'"),
        ('f(\n    """kept"""\n)\n', 'f(\n    """kept"""\n)'),
        ('x = {1: """kept"""}\n', 'x = {1: """kept"""}'),
    ],
)
def test_python(text: str, bare: str) -> None:
    assert bare_python(text) == bare


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("// a\nint x; // b\n\n/* c\n */\nint y;\n", "int x;\nint y;"),
        ('#include "a//b.cuh"\n', '#include "a//b.cuh"'),
        ("int z = x / y;\n", "int z = x / y;"),
    ],
)
def test_cuda(text: str, bare: str) -> None:
    assert bare_cuda(text) == bare


def test_digests_do_not_depend_on_the_locale() -> None:
    """Sources are UTF-8, also where Python is told that the system's encoding is ASCII."""
    done = subprocess.run(
        [sys.executable, "-c", "from quire import sources; print(sources.digest('map_unit.py'))"],
        env={"PYTHONPATH": str(SCRIPTS), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == sources.digest("map_unit.py"), done.stderr
