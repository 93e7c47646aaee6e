"""Every function has type annotations, except kernels, whose types Numba infers; kernels are in files *cpu.py."""

import ast
from collections.abc import Iterator

from quire.sources import SCRIPTS

KERNEL_DECORATORS = {"compiled", "inlined", "intrinsic", "overload", "lower_builtin", "register_model"}
GENERATORS = {"builder", "context", "_context", "typing_context", "_typing_context"}  # parameters of code generators


def decorators(function: ast.FunctionDef) -> set[str]:
    """Return the names of a function's decorators."""
    return {node.id for one in function.decorator_list for node in ast.walk(one) if isinstance(node, ast.Name)}


def unannotated(node: ast.AST, inside_class: bool = False) -> Iterator[ast.FunctionDef]:
    """Yield functions without annotations that are neither kernels nor generate code for them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            arguments = [*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs]
            if decorators(child) & KERNEL_DECORATORS or {one.arg for one in arguments} & GENERATORS:
                continue
            missing = [one.arg for one in arguments[inside_class:] if one.annotation is None]
            if missing or (child.returns is None and child.name != "__init__"):
                yield child
            yield from unannotated(child)
        else:
            yield from unannotated(child, isinstance(child, ast.ClassDef))


def test_functions_are_annotated() -> None:
    found = [
        f"{path.relative_to(SCRIPTS)}:{function.lineno} {function.name}"
        for path in sorted((SCRIPTS / "quire").rglob("*.py"))
        for function in unannotated(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_modules_of_kernels_are_named_cpu() -> None:
    """A module that needs Numba ends in cpu.py, or is a package that only the CPU runs; `simd` makes kernels."""
    found = [
        str(path.relative_to(SCRIPTS))
        for path in sorted((SCRIPTS / "quire").rglob("*.py"))
        if not path.stem.endswith("cpu")
        and path.name != "__init__.py"
        and "simd" not in path.parts
        and any(
            decorators(node) & {"compiled", "inlined"}
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef)
        )
    ]
    assert not found, "\n".join(found)
