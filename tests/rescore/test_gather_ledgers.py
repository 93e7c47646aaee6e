"""The ledger of calling: sums over the pieces, which must balance."""

import pytest
from quire.errors import QuireError
from quire.io.files import read_json, write_json_atomic
from quire.rescore.ledgers import gather_ledgers


def piece(path, reads: int, used: int, variants: int):
    counts = {"reads": reads, "unmapped": reads - 5, "used": used}
    ledger = {"stage": "rescore", "intervals": [], "variants": variants, "reads": {"a": counts}}
    write_json_atomic(path, ledger | {"regions": {"active": variants, "not_assembled": 1}})
    return path


def test_pieces_are_added_up(tmp_path):
    parts = [piece(tmp_path / "0.json", 10, 5, 2), piece(tmp_path / "1.json", 20, 5, 3)]
    gather_ledgers(parts, tmp_path / "all.json", 4)
    assert read_json(tmp_path / "all.json") == {
        "stage": "rescore",
        "samples": {"a": {"reads": 30, "unmapped": 20, "used": 10}},
        "regions": {"active": 5, "not_assembled": 2},
        "variants": 4,
    }


def test_a_lost_read_fails(tmp_path):
    with pytest.raises(QuireError, match="rescore of a: the ledger does not balance"):
        gather_ledgers([piece(tmp_path / "0.json", 10, 4, 0)], tmp_path / "all.json", 0)
    assert not (tmp_path / "all.json").exists()
