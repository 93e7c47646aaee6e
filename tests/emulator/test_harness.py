"""Check that the harness detects what a card leaves undefined: each such mistake makes a test fail."""

import re

import numpy as np
import pytest

from tests.emulator.emulated_card import SCHEDULES, DoesNotCompile, KernelFault
from tests.emulator.laboratory import SOURCE, kernel, lab, needs_compiler

pytestmark = needs_compiler


REDUCTION = """
extern "C" __global__ void __launch_bounds__(64) probe(const i64* values, i64* total) {
    i64* partial = (i64*)shared_memory;
    int i = threadIdx.x;
    partial[i] = values[i];
    __syncthreads();
    for (int half = 32; half >= 1; half /= 2) {
        if (i < half) partial[i] += partial[i + half];
        __syncthreads();
    }
    i64 rest = 0;
    for (int step = 16; step >= 1; step /= 2) rest += __shfl_down_sync(0xFFFFFFFFu, values[i], step) & 1;
    if (i == 0) *total = partial[0];
    else if (i == 1) total[1] = rest;
}
"""


def reduce(schedule: str, text: str, threads: int = 64, shared_bytes: int = 512) -> list[int]:
    card = lab(schedule, text)
    values, total = card.upload(np.arange(64)), card.empty(2, np.int64)
    card.kernel(SOURCE, "probe")(1, threads, values, total, shared_bytes=shared_bytes)
    return total.tolist()


def test_the_sound_kernel_passes(schedule: str) -> None:
    assert reduce(schedule, REDUCTION)[0] == 2016


@pytest.mark.full
@pytest.mark.parametrize(
    ("sound", "broken", "fault"),
    [
        pytest.param("    __syncthreads();\n    for", "    for", None, id="no barrier before the loop"),
        pytest.param("        __syncthreads();\n", "", None, id="no barrier in the loop"),
        pytest.param(
            "partial[i] = values[i];", "if (i) partial[i] = values[i];", None, id="uninitialised shared memory"
        ),
        pytest.param("i + half]", "i + half + 1]", None, id="off by one in shared memory"),
        pytest.param("partial[i] = ", "partial[i + 1] = ", "after its 512 bytes of shared memory", id="shared overrun"),
        pytest.param("values[i];\n", "values[i + 1];\n", None, id="off by one in a read"),
        pytest.param(
            "        __syncthreads();",
            "        if (i < half) __syncthreads();",
            "only 32 of 64 threads reached __syncthreads at quire/lab.cu:10",
            id="divergent barrier",
        ),
        pytest.param(
            "        if (i < half) partial[i] += partial[i + half];\n        __syncthreads();",
            "        if (i < half) {\n partial[i] += partial[i + half]; __syncthreads(); } else\n __syncthreads();",
            "meet in different barriers: __syncthreads at quire/lab.cu:10 and __syncthreads at quire/lab.cu:11",
            id="two barriers",
        ),
        pytest.param(
            "(0xFFFFFFFFu, values[i], step)",
            "(0xFFFFu, values[i], step)",
            "block 0, thread .*: __shfl_down_sync at quire/lab.cu:13: the lane is not in its own mask",
            id="a mask without the lane",
        ),
        pytest.param("rest += ", "if (i % 32 < 16) rest += ", "__shfl_down_sync at quire/lab.cu:13", id="half a warp"),
        pytest.param(
            "total[1] = rest",
            "total[2] = rest",
            "thread 1: touches memory that is not its own: 0 bytes after total, int64",
            id="off by one in a write",
        ),
        pytest.param(
            "*total = partial[0]",
            "total[-1] = partial[0]",
            "writes 0 bytes before the start of total, int64",
            id="a write before the begin",
        ),
        pytest.param(
            "*total = partial[0]",
            "total[2000] = partial[0]",
            "thread 0: touches memory that is not its own: .* bytes after total, int64",
            id="a wild write",
        ),
        pytest.param(
            "partial[i] = values[i]", "partial[i] = values[i + 1000]", "bytes after values, int64", id="a wild read"
        ),
        pytest.param(
            "partial[i] = values[i]",
            "partial[i + 1000] = values[i]",
            "beyond what its launch asks for",
            id="far beyond shared memory",
        ),
        pytest.param(
            "*total = partial[0]",
            "*total = partial[0] << (64 * (1 + i))",
            "thread 0: a shift by the width or more",
            id="a shift too far",
        ),
        pytest.param("*total = partial[0]", "*total = partial[0] / i", "quire/lab.cu:14", id="division by zero"),
        pytest.param(
            "*total = partial[0]",
            "*total = ((ulonglong2*)(total - 1))->x",
            "misaligned pointer at quire/lab.cu:14",
            id="misaligned vector",
        ),
        pytest.param(
            "*total = partial[0]",
            "*total = partial[0] + 0x7FFFFFFFFFFFFFF0",
            "signed overflow at quire/lab.cu:14",
            id="signed overflow",
        ),
        pytest.param(
            "*total = partial[0]",
            "*total = (int)(1e30f * partial[0])",
            "a float beyond an integer",
            id="float too large",
        ),
        pytest.param(
            "i64 rest = 0;",
            "i64 rest = 0, local[4] = {}; for (int j = 0; j < 5 + i; j++) rest += local[j];",
            "an index beyond an array at quire/lab.cu:12",
            id="beyond a local array",
        ),
        pytest.param(
            "i64* total)",
            "i64* total) // i64* more",
            "does not compile for the CPU:\nquire/lab.cu:",
            id="does not compile",
        ),
        pytest.param(
            "*total = partial[0]",
            "while (*(volatile i64*)total != 5) __nanosleep(20)",
            "wait for memory that no thread writes",
            id="waiting for ever",
        ),
        pytest.param("(64)", "(32)", "a block of 64 threads, the kernel allows 32", id="too large a block"),
        pytest.param(
            "i64* total",
            "i32* total",
            "argument 2 is a pointer to items of 8 bytes, the kernel takes a pointer to items of 4",
            id="another type",
        ),
        pytest.param("i64* total", "i64* total, i64 more", "takes 3 arguments, not 2", id="an argument missing"),
        pytest.param(
            "int i = threadIdx.x;",
            "int i = threadIdx.x; i64 large[1 << 15]; ((volatile i64*)large)[i] = 1;",
            "needs more stack",
            id="stack",
        ),
    ],
)
def test_a_broken_kernel_turns_red(sound: str, broken: str, fault: str | None) -> None:
    """It fails under at least one schedule, with a message if the harness can determine one."""
    assert REDUCTION.count(sound) == 1
    text = REDUCTION.replace(sound, broken)
    wanted = reduce("forward", REDUCTION)
    messages, wrong = [], 0
    for schedule in SCHEDULES:
        try:
            wrong += reduce(schedule, text) != wanted
        except (KernelFault, DoesNotCompile) as error:
            messages.append(str(error))
    if fault is None:
        assert messages or wrong
    else:
        assert messages
        assert [message for message in messages if not re.search(fault, message)] == []


def test_too_little_shared_memory(schedule: str) -> None:
    with pytest.raises(KernelFault, match="after its 504 bytes of shared memory"):
        reduce(schedule, REDUCTION, shared_bytes=504)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (
            "v = threadIdx.x & 1 ? __shfl_sync(0xFFFFFFFFu, v, 0) : __shfl_xor_sync(0xFFFFFFFFu, v, 1);",
            "its warp meets it in",
        ),
        ("u32 mask = threadIdx.x < 16 ? 0xFFFFFFFFu : 0xFFFFFFFEu; v = __shfl_sync(mask, v, 1);", "with another mask"),
        ("if (threadIdx.x == 31) return; v = __shfl_sync(0xFFFFFFFFu, v, 0);", "a lane that has ended|never reach it"),
        ("v = __shfl_up_sync(0xFFFFFFFFu, v, 32);", "a distance of 32"),
        ("v = __shfl_xor_sync(0xFFFFFFFFu, v, 1, 12);", "width 12"),
        (
            "if (threadIdx.x & 1) v = __shfl_sync(0xFFFFFFFFu, v, 0);\nelse v = __shfl_sync(0xFFFFFFFFu, v, 0);",
            "its warp meets it in __shfl_sync at quire/lab.cu:",
        ),
    ],
)
def test_exchanges_that_go_wrong(schedule: str, body: str, fault: str) -> None:
    card = lab(schedule, kernel("i32* out", f"int v = threadIdx.x; {body} out[threadIdx.x] = v;"))
    with pytest.raises(KernelFault, match=fault):
        card.kernel(SOURCE, "probe")(1, 32, card.empty(32, np.int32))


def test_a_mask_beyond_the_block(schedule: str) -> None:
    card = lab(schedule, kernel("i32* out", "out[threadIdx.x] = __any_sync(0xFFFFFFFFu, 1);"))
    with pytest.raises(KernelFault, match="lanes beyond the block"):
        card.kernel(SOURCE, "probe")(1, 16, card.empty(16, np.int32))


def test_a_value_from_outside_the_mask_is_poison(schedule: str) -> None:
    text = kernel(
        "u32* out", "if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0xFFu, threadIdx.x, threadIdx.x + 4);"
    )
    card = lab(schedule, text)
    out = card.empty(8, np.uint32)
    card.kernel(SOURCE, "probe")(1, 32, out)
    assert out.tolist() == [4, 5, 6, 7, *[0xDBDBDBDB] * 4]


def test_warps_that_need_a_barrier_drift_apart(schedule: str) -> None:
    """Exchanges synchronise a warp, not a block: another warp sees a write only after a barrier."""
    text = kernel(
        "i32* out",
        "i32* shared = (i32*)shared_memory; int i = threadIdx.x, v = i;\n"
        "for (int k = 0; k < 4; k++) v = __shfl_xor_sync(0xFFFFFFFFu, v, 1);\n"
        "shared[i] = v;\n/* barrier */\n"
        "for (int k = 0; k < 4; k++) v = __shfl_xor_sync(0xFFFFFFFFu, v, 1);\n"
        "out[i] = shared[127 - i];",
    )
    results = {}
    for name, source in (("sound", text.replace("/* barrier */", "__syncthreads();")), ("broken", text)):
        card = lab(schedule, source)
        out = card.empty(128, np.int32)
        card.kernel(SOURCE, "probe")(1, 128, out, shared_bytes=512)
        results[name] = out.tolist()
    assert results["sound"] == list(range(127, -1, -1))
    assert results["broken"] != results["sound"]


def test_schedules_differ() -> None:
    """They differ in the order of threads, of warps and of blocks."""
    text = kernel("u32* next, i64* order", "order[atomicAdd(next, 1u)] = thread_index();")
    orders = {}
    for schedule in SCHEDULES:
        card = lab(schedule, text)
        order = card.empty(256, np.int64)
        card.kernel(SOURCE, "probe")(4, 64, card.zeros(1, np.uint32), order)
        orders[schedule] = order.tolist()
    assert orders["forward"] == list(range(256))
    assert orders["reverse"] == list(range(255, -1, -1))
    assert sorted(orders["random"]) == orders["forward"]
    assert len({tuple(order) for order in orders.values()}) == 3
    blocks = [index // 64 for index in orders["random"]]
    assert blocks != sorted(blocks)


def test_polling_lets_the_others_go_on(schedule: str) -> None:
    text = kernel(
        "volatile i32* flags",
        "int i = threadIdx.x;\nif (i) while (!flags[i - 1]) __nanosleep(20);\nflags[i] = 1;",
    )
    card = lab(schedule, text)
    flags = card.zeros(100, np.int32)
    card.kernel(SOURCE, "probe")(1, 100, flags)
    assert flags.tolist() == [1] * 100
