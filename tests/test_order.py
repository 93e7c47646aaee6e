"""Tests of the order in which the workers of pytest-xdist get tests (conftest.py)."""

from pathlib import Path
from unittest.mock import Mock

from tests.conftest import LONGEST, pytest_xdist_make_scheduler

ROOT = Path(__file__).parents[1]


def test_the_longest_exist() -> None:
    assert [unit for unit in LONGEST if not (ROOT / unit).exists()] == []


def test_the_longest_start_first() -> None:
    """Files of one test start before files of many."""
    single = [f"{unit}::test" for unit in LONGEST[:3]]
    tests = [*(f"tests/test_short.py::test[{number}]" for number in range(50)), *reversed(single)]
    settings = {"dist": "loadfile", "tx": ["2*popen"], "maxprocesses": None}
    config = Mock(getvalue=settings.get)
    scheduler = pytest_xdist_make_scheduler(config, None)
    nodes = [Mock(shutting_down=False), Mock(shutting_down=False)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    sent = [
        [tests[index] for call in node.send_runtest_some.call_args_list for index in call.args[0]] for node in nodes
    ]
    assert sent[0] == [single[0], single[2]]
    assert sent[1] == [single[1], *tests[:50]]
