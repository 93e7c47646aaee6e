"""Check that arrays of the emulated card are as strict as a real card's."""

import numpy as np
import pytest
from quire.device.card import OutOfDeviceMemory

from tests.emulator.emulated_card import SCHEDULES, EmulatedCard, KernelFault
from tests.emulator.laboratory import SOURCE, kernel, lab, needs_compiler

pytestmark = needs_compiler


@pytest.fixture
def card() -> EmulatedCard:
    return lab("forward", kernel("i64* values", "values[threadIdx.x] += 1;"))


def test_an_array_of_the_host_is_no_argument(card: EmulatedCard) -> None:
    with pytest.raises(TypeError, match="arrays of the card, not ndarray"):
        card.kernel(SOURCE, "probe")(1, 4, np.zeros(4, np.int64))
    with pytest.raises(TypeError, match="contiguous"):
        card.kernel(SOURCE, "probe")(1, 4, card.zeros(8, np.int64)[::2])
    with pytest.raises(TypeError, match="another card"):
        card.kernel(SOURCE, "probe")(1, 4, EmulatedCard().zeros(4, np.int64))


@pytest.mark.parametrize(
    "use",
    [
        lambda card, ours, host: np.asarray(ours),
        lambda card, ours, host: np.cumsum(ours),
        lambda card, ours, host: np.add.reduce(ours),
        lambda card, ours, host: host[ours],
        lambda card, ours, host: ours + host,
        lambda card, ours, host: host + ours,
        lambda card, ours, host: ours[host],
        lambda card, ours, host: ours.__setitem__(slice(None), host),
        lambda card, ours, host: card.xp.concatenate([ours, host]),
        lambda card, ours, host: card.xp.where(ours > 0, host, 0),
        lambda card, ours, host: card.upload(ours),
        lambda card, ours, host: card.download(host),
    ],
)
def test_host_and_card_do_not_mix(card: EmulatedCard, use) -> None:
    with pytest.raises((TypeError, IndexError)):
        use(card, card.upload(np.arange(3)), np.arange(3))


def test_shared_functions_give_arrays_of_the_card(card: EmulatedCard) -> None:
    xp, values = card.xp, card.upload(np.array([3, 1, 2]))
    made = [
        xp.cumsum(values), xp.concatenate([values, values]), xp.flatnonzero(values > 1), xp.where(values > 1, 9, 0),
        values[values > 1], values + 1, -values, values.astype(np.int32), xp.searchsorted(xp.sort(values), values),
        values[-1], values.sum(), xp.arange(3), values[xp.argsort(values)], values.reshape(3, 1).T,
    ]  # fmt: skip
    assert {type(array) for array in made} == {type(values)}
    assert [made[0].tolist(), made[12].tolist(), int(made[9]), made[9].ndim] == [[3, 4, 6], [1, 2, 3], 2, 0]
    part = values[1:]
    part[:] = 7
    values += 1
    assert values.tolist() == [4, 8, 8]


def test_functions_that_the_two_do_not_share(card: EmulatedCard) -> None:
    for name in ("unique", "repeat", "lexsort", "add", "get_include"):
        with pytest.raises(AttributeError, match="not among the functions"):
            getattr(card.xp, name)
    with pytest.raises(AttributeError, match="share"):
        card.zeros(3, np.int64).tobytes()


def test_an_array_of_no_bytes_lies_nowhere(card: EmulatedCard) -> None:
    assert card.pointer(card.empty(0, np.int64)) == 0
    with pytest.raises(KernelFault):
        card.kernel(SOURCE, "probe")(1, 1, card.empty(0, np.int64))


def test_an_upload_ahead_shows_what_the_host_holds_when_it_is_used(card: EmulatedCard) -> None:
    host = np.zeros(3, np.int64)
    upload = card.upload_ahead(host)
    host[1] = 5  # a forbidden change
    assert upload.array().tolist() == [0, 5, 0]


def test_an_upload_waits_for_those_who_used_its_memory(card: EmulatedCard) -> None:
    """Earlier launches may still use the released memory of an upload, so later uploads need a mark."""
    host = np.zeros(3, np.int64)
    early = card.mark()
    upload = card.upload_ahead(host, early)
    card.kernel(SOURCE, "probe")(1, 1, upload.array())
    del upload
    for mark in (early, None):
        with pytest.raises(KernelFault, match="released after its mark"):
            card.upload_ahead(host, mark)
    card.upload_ahead(host, card.mark())


def test_integers_do_not_become_floats(card: EmulatedCard) -> None:
    with pytest.raises(TypeError, match="float64 from int64 and uint64"):
        card.zeros(3, np.uint64) + card.zeros(3, np.int64)
    assert (card.zeros(3, np.uint64) + 1).dtype == np.uint64


def test_values_assigned_twice(card: EmulatedCard) -> None:
    values = card.zeros(3, np.int64)
    values[card.upload(np.array([0, 0]))] = 1
    with pytest.raises(AssertionError, match="twice"):
        values[card.upload(np.array([0, 0]))] = card.upload(np.array([1, 2]))


def test_equal_keys_come_in_any_order() -> None:
    keys = np.array([1, 0] * 20)
    orders = set()
    for schedule in SCHEDULES:
        card = EmulatedCard(schedule)
        order = card.xp.argsort(card.upload(keys)).tolist()
        assert keys[order].tolist() == sorted(keys.tolist())
        orders.add(tuple(order))
    assert len(orders) == 3


def test_memory_is_counted_and_runs_out() -> None:
    card = EmulatedCard(memory=1 << 20)
    kept = card.empty(1000, np.int64)
    assert card.free_bytes() == (1 << 20) - 8192  # in steps of 512 bytes, as in CuPy's pool
    view = kept[10:20]
    del kept
    assert card.free_bytes() == (1 << 20) - 8192
    del view
    assert card.free_bytes() == 1 << 20
    half = card.zeros(1 << 19, np.uint8)
    with pytest.raises(OutOfDeviceMemory, match="no room for 2097152 bytes: 524288 of 1048576 are taken"):
        card.xp.cumsum(half[: 1 << 18], dtype=np.int64)
    assert card.free_bytes() == 1 << 19
    assert card.arrays.most_taken == 1 << 19


def test_an_allocation_fails_on_order(card: EmulatedCard) -> None:
    card.fail_allocation(2)
    values = card.zeros(3, np.int64)
    with pytest.raises(OutOfDeviceMemory):
        values + 1
    assert (values + 1).tolist() == [1, 1, 1]
