"""Check the harness's versions of CUDA functions against plain implementations of CUDA's definitions."""

import numpy as np
import pytest

from tests.emulator.laboratory import SOURCE, kernel, lab, needs_compiler

pytestmark = needs_compiler
ALL = 0xFFFFFFFF


# ---- exchanges, as the CUDA C++ programming guide defines them ----


def shuffled(operation: str, values, arguments, width: int, mask: int) -> list:
    """Return the value that each lane of a warp receives; None where the guide leaves it undefined."""
    results = []
    for lane, argument in enumerate(arguments):
        first = lane // width * width  # "each subsection of the warp behaves as a separate entity"
        if operation == "__shfl_sync":
            source = first + argument % width
        elif operation == "__shfl_up_sync":
            source = lane - argument if lane - argument >= first else lane
        elif operation == "__shfl_down_sync":
            source = lane + argument if lane + argument < first + width else lane
        else:  # earlier subsections can be read, later ones cannot
            source = lane ^ argument if (lane ^ argument) < first + width else lane
        results.append(values[source] if mask >> source & 1 else None)
    return results


@pytest.mark.full
@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize("operation", ["__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"])
@pytest.mark.parametrize("word", ["i32", "i64", "float"])
def test_shuffles(schedule: str, operation: str, width: int, word: str) -> None:
    generator = np.random.default_rng(width)
    card = lab(schedule, kernel(
        f"const {word}* values, const i32* arguments, {word}* results",
        f"int i = threadIdx.x; results[i] = {operation}(0xFFFFFFFFu, values[i], arguments[i], {width});",
    ))  # fmt: skip
    dtype = {"i32": np.int32, "i64": np.int64, "float": np.float32}[word]
    values = (generator.integers(-(10**6), 10**6, 64) * (10**9 if word == "i64" else 1)).astype(dtype)
    arguments = np.concatenate([generator.integers(0, width, 32), generator.integers(0, 32, 32)]).astype(np.int32)
    results = card.empty(64, dtype)
    card.kernel(SOURCE, "probe")(1, 64, card.upload(values), card.upload(arguments), results)
    wanted = [
        shuffled(operation, values[warp : warp + 32].tolist(), arguments[warp : warp + 32].tolist(), width, ALL)
        for warp in (0, 32)
    ]
    assert card.download(results).tolist() == wanted[0] + wanted[1]


def test_votes_and_matches_of_parts_of_a_warp(schedule: str) -> None:
    masks = [0xFF, 0xFF00, 0x5555 << 16, 0xAAAA << 16]  # lanes that vote together
    mask_of = np.array([next(mask for mask in masks if mask >> lane & 1) for lane in range(32)], np.uint32)
    values = np.array([*[1] * 8, *[0, 1] * 4, *[3, 0] * 8], np.int32)
    card = lab(schedule, kernel(
        "const u32* masks, const i32* values, u32* results",
        "int i = threadIdx.x; u32 mask = masks[i]; int v = values[i];\n"
        "results[i] = __ballot_sync(mask, v);\n"
        "results[32 + i] = __any_sync(mask, v);\n"
        "results[64 + i] = __all_sync(mask, v);\n"
        "results[96 + i] = __match_any_sync(mask, v);",
    ))  # fmt: skip
    results = card.empty(128, np.uint32)
    card.kernel(SOURCE, "probe")(1, 32, card.upload(mask_of), card.upload(values), results)
    ballot, some, every, match = card.download(results).reshape(4, 32).tolist()
    for lane, mask in enumerate(mask_of.tolist()):
        together = [other for other in range(32) if mask >> other & 1]
        assert ballot[lane] == sum(1 << other for other in together if values[other])
        assert some[lane] == int(any(values[other] for other in together))
        assert every[lane] == int(all(values[other] for other in together))
        assert match[lane] == sum(1 << other for other in together if values[other] == values[lane])


def test_barriers_that_count(schedule: str) -> None:
    card = lab(schedule, kernel(
        "const i32* values, i32* results",
        "int i = threadIdx.x, v = values[i];\n"
        "results[i] = __syncthreads_count(v);\nresults[96 + i] = __syncthreads_and(v);\n"
        "results[192 + i] = __syncthreads_or(v);",
    ))  # fmt: skip
    for values in (np.zeros(96), np.ones(96), np.arange(96) % 3):
        results = card.empty(288, np.int32)
        card.kernel(SOURCE, "probe")(1, 96, card.upload(values.astype(np.int32)), results)
        count, every, some = card.download(results).reshape(3, 96).tolist()
        assert set(count) == {int((values != 0).sum())}
        assert {bool(v) for v in every} == {bool((values != 0).all())}
        assert {bool(v) for v in some} == {bool((values != 0).any())}


@pytest.mark.parametrize(
    ("call", "stays", "gets"),
    [
        ("atomicAdd(p, 5u)", 12, 7),
        ("atomicSub(p, 5u)", 2, 7),
        ("atomicMin(p, 5u)", 5, 7),
        ("atomicMax(p, 5u)", 7, 7),
        ("atomicExch(p, 5u)", 5, 7),
        ("atomicOr(p, 8u)", 15, 7),
        ("atomicAnd(p, 12u)", 4, 7),
        ("atomicXor(p, 5u)", 2, 7),
        ("atomicCAS(p, 7u, 5u)", 5, 7),
        ("atomicCAS(p, 6u, 5u)", 7, 7),
    ],
)
def test_atomics_give_the_old_value(call: str, stays: int, gets: int) -> None:
    card = lab("forward", kernel("u32* p, u32* old", f"*old = {call};"))
    value, old = card.full(1, 7, np.uint32), card.empty(1, np.uint32)
    card.kernel(SOURCE, "probe")(1, 1, value, old)
    assert (int(value[0]), int(old[0])) == (stays, gets)


def bits_of(value: int, width: int) -> str:
    return format(value & ((1 << width) - 1), f"0{width}b")


def u32_functions() -> dict:
    """Return functions of one or two words, with their definitions."""
    return {
        "__popc(a)": lambda a, b: bits_of(a, 32).count("1"),
        "__clz((int)a)": lambda a, b: 32 - a.bit_length(),
        "__ffs((int)a)": lambda a, b: (a & -a).bit_length(),
        "__brev(a)": lambda a, b: int(bits_of(a, 32)[::-1], 2),
        "__umulhi(a, b)": lambda a, b: a * b >> 32,
        "__funnelshift_l(a, b, 7)": lambda a, b: ((b << 32 | a) << 7 >> 32) & ALL,
        "__funnelshift_r(a, b, 39)": lambda a, b: ((b << 32 | a) >> 7) & ALL,
        "__byte_perm(a, b, 0x7120u)": lambda a, b: int.from_bytes(
            [(a.to_bytes(4, "little") + b.to_bytes(4, "little"))[i] for i in (0, 2, 1, 7)], "little"
        ),
        "(u32)__popcll((u64)a << 32 | b)": lambda a, b: bits_of(a << 32 | b, 64).count("1"),
        "(u32)__clzll((i64)((u64)a << 32 | b))": lambda a, b: 64 - (a << 32 | b).bit_length(),
        "(u32)__ffsll((i64)((u64)a << 32 | b))": lambda a, b: ((v := a << 32 | b) & -v).bit_length(),
        "(u32)__brevll(a)": lambda a, b: int(bits_of(a, 64)[::-1], 2) & ALL,
        "(u32)__umul64hi((u64)a << 32, (u64)b << 20)": lambda a, b: ((a << 32) * (b << 20) >> 64) & ALL,
    }


def dpx_functions() -> dict:
    """Return the DPX functions, with their definitions in the programming guide; sums wrap around."""

    def whole(signed: bool, relu: bool, function):
        def words(a: int, b: int, c: int) -> int:
            return function(*(wrap(v, 32, signed) for v in (a, b, c)), lambda v: wrap(v, 32, signed), relu) & ALL

        return words

    def halves(signed: bool, relu: bool, function):
        def pairs(a: int, b: int, c: int) -> int:
            low, high = (
                function(*(wrap(v >> shift, 16, signed) for v in (a, b, c)), lambda v: wrap(v, 16, signed), relu)
                for shift in (0, 16)
            )
            return (low & 0xFFFF) | (high & 0xFFFF) << 16

        return pairs

    def definition(name: str):
        choose = max if "max" in name else min

        def apply(a, b, c, wrapped, relu):
            value = choose(wrapped(a + b), c) if "add" in name else choose(a, b, c)
            return max(value, 0) if relu else value

        return apply

    return {
        f"{name}_{suffix}": form(signed, relu, definition(name))
        for name in ("__viaddmax", "__viaddmin", "__vimax3", "__vimin3")
        for suffix, form, signed, relu in [
            ("s32", whole, True, False), ("s32_relu", whole, True, True), ("u32", whole, False, False),
            ("s16x2", halves, True, False), ("s16x2_relu", halves, True, True), ("u16x2", halves, False, False),
        ]
    }  # fmt: skip


def wrap(value: int, width: int, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def words(count: int) -> list[int]:
    """Return random words, and words at the ends of ranges."""
    drawn = np.random.default_rng(count).integers(0, 1 << 32, 60).tolist()
    return [0, 1, ALL, 0x7FFFFFFF, 0x80000000, 0x7FFF8000, 0x80007FFF, 0xFFFF, *drawn][:count]


def test_functions_of_words() -> None:
    functions = u32_functions()
    body = "".join(f"out[{i}] = {call};\n" for i, call in enumerate(functions))
    card = lab("forward", kernel("u32 a, u32 b, u32* out", body))
    for a, b in zip(words(40), reversed(words(40)), strict=True):
        out = card.empty(len(functions), np.uint32)
        card.kernel(SOURCE, "probe")(1, 1, np.uint32(a), np.uint32(b), out)
        assert dict(zip(functions, out.tolist(), strict=True)) == {call: f(a, b) for call, f in functions.items()}


def test_dpx() -> None:
    functions = dpx_functions()
    body = "".join(f"out[{i}] = (u32){name}(a, b, c);\n" for i, name in enumerate(functions))
    card = lab("forward", kernel("u32 a, u32 b, u32 c, u32* out", body))
    values = words(60)
    for a, b, c in zip(values, values[7:] + values[:7], values[::-1], strict=True):
        out = card.empty(len(functions), np.uint32)
        card.kernel(SOURCE, "probe")(1, 1, *(np.uint32(v) for v in (a, b, c)), out)
        assert dict(zip(functions, out.tolist(), strict=True)) == {name: f(a, b, c) for name, f in functions.items()}
