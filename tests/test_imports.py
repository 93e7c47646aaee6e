"""Imports of the library form no circle, file by file.

An edge leads from a file to each file that it imports:

- wherever the import stands: at the top, in a function, or under TYPE_CHECKING;
- `from a.b import c` leads to the file of `a.b.c` if there is one, else to that of `a.b`;
- an import from outside a package also leads to the `__init__.py` of that package, which Python runs first. From inside
  it does not, so that a package may import its own modules in its `__init__.py`.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest
from quire.sources import SCRIPTS


def modules(root: Path) -> dict[str, Path]:
    """Return the files of a package by the dotted name of their module."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(module: str, files: Mapping[str, Path]) -> set[str]:
    """Return the modules among `files` that a module imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(files[module].read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: give whole names of modules"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    found = set()
    for name in names:
        while name not in files and "." in name:
            name = name.rpartition(".")[0]
        packages = [name.rsplit(".", up)[0] for up in range(1, name.count(".") + 1)]
        outside = [package for package in packages if not f"{module}.".startswith(f"{package}.")]
        found.update({name, *outside} & files.keys())
    return found - {module}


def circle(edges: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a circle in order, or nothing without one."""
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module not in done:
            for other in sorted(edges[module]):
                found = search(other, [*path, module])
                if found:
                    return found
            done.add(module)
        return []

    for module in edges:
        found = search(module, [])
        if found:
            return found
    return []


def test_the_library_has_no_circles() -> None:
    files = modules(SCRIPTS / "quire")
    assert len(files) > 300
    found = circle({module: imported(module, files) for module in files})
    assert not found, " -> ".join([*found, found[0]])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"p/a.py": "import p.b", "p/b.py": "def f():\n    from p import a"}, ["p.a", "p.b"]),
        ({"p/a.py": "from p.q import x", "p/q/__init__.py": "from p.a import y"}, ["p.a", "p.q"]),
        ({"p/a.py": "from p.q.m import x", "p/q/__init__.py": "import p.a", "p/q/m.py": ""}, ["p.a", "p.q"]),
        ({"p/q/__init__.py": "from p.q.m import x", "p/q/m.py": "from p.q.n import y", "p/q/n.py": ""}, []),
        ({"p/q/__init__.py": "from p.q.m import x", "p/q/m.py": "from p.q import x"}, ["p.q", "p.q.m"]),
    ],
)
def test_what_a_circle_is(texts: Mapping[str, str], expected: list[str], tmp_path: Path) -> None:
    for name, text in {"p/__init__.py": "", **texts}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    files = modules(tmp_path / "p")
    assert circle({module: imported(module, files) for module in files}) == expected
