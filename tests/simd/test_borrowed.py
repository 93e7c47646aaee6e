"""Check that borrowed views have the contents of their arrays, alone and in tuples, and that these stay alive."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled
from quire.sources import SCRIPTS


class Pair(NamedTuple):
    """Two arrays, one of them in a tuple, and a number."""

    first: np.ndarray
    nested: tuple[np.ndarray]
    number: int


@compiled
def first_and_sum(array):
    """Return the first item and the sum of a borrowed array."""
    view = borrowed(array)
    total = view[0] * 0
    for i in range(len(view)):
        total += view[i]
    return view[0], total


@compiled
def sums_of(pair):
    """Return the sums of a tuple's arrays, and its number; write to one of them."""
    view = borrowed(pair)
    sums = view.first.sum(), view.nested[0].sum(), view.number
    view.first[0] = 100
    return sums


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_a_view_holds_the_same(dtype: type) -> None:
    array = np.arange(5, 12).astype(dtype)
    assert first_and_sum(array) == (5, 56)
    assert first_and_sum(array[2:5]) == (7, 24)
    assert first_and_sum(array[::2]) == (5, 32)


def test_the_arrays_of_a_tuple_are_borrowed_too() -> None:
    pair = Pair(np.arange(4), (np.arange(6).reshape(2, 3)[:, 1:],), 7)
    assert sums_of(pair) == (6, 12, 7)
    assert pair.first[0] == 100


def borrowers() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of the library that borrow arrays, with their places."""
    for path in sorted(SCRIPTS.rglob("*.py")):
        text = path.read_text()
        if "borrowed(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef) and lent_names(node):
                    yield f"{path.relative_to(SCRIPTS)}:{node.name}", node


def lent_names(function: ast.FunctionDef) -> list[ast.Name]:
    """Return the variables whose arrays a function borrows."""
    return [
        name
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "borrowed"
        for argument in call.args
        for name in ast.walk(argument)
        if isinstance(name, ast.Name) and name.id[0].islower()
    ]


def held_by_the_caller(function: ast.FunctionDef) -> set[str]:
    """Return parameters, and variables that are assigned parts of them without a call."""
    held = {argument.arg for argument in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and not any(isinstance(part, ast.Call) for part in ast.walk(node.value)):
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if names & held:
                held |= {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
    return held


def test_borrowed_arrays_outlive_their_views() -> None:
    """They are the caller's, or returned, or used again in a loop: Numba frees an array after its last use."""
    functions = dict(borrowers())
    assert len(functions) > 20
    for place, function in functions.items():
        held = held_by_the_caller(function)
        for lent in lent_names(function):
            used_later = any(
                isinstance(part, ast.Name) and part.id == lent.id and part.lineno > lent.lineno
                for part in ast.walk(function)
            )
            in_loop = any(
                isinstance(loop, ast.For | ast.While) and loop.lineno < lent.lineno <= (loop.end_lineno or 0)
                for loop in ast.walk(function)
            )
            assert lent.id in held or used_later or in_loop, f"{place} borrows {lent.id}, which is freed at once"
