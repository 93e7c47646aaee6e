"""Programs of Slurm that are missing, hang or fail: one sentence before any job, and none for a working cluster."""

import os
import threading
from pathlib import Path

import pytest
from quire.errors import QuireError
from quire.run import slurm
from quire.run.slurm import require_slurm, watch_slurm

HANGS, FAILS = "#!/bin/sh\nexec sleep 60\n", "#!/bin/sh\necho error: Unable to contact slurm controller >&2\nexit 1\n"
WORKS = dict.fromkeys(("sbatch", "scancel", "sinfo", "squeue", "sacct", "sacctmgr", "sshare"), "#!/bin/sh\necho lab\n")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of stand-ins for Slurm's programs, all of which work; nothing else is on the PATH."""
    for name in ("sh", "sleep", "echo"):
        (tmp_path / name).symlink_to(f"/bin/{name}")
    for name, script in (WORKS | {"scontrol": "#!/bin/sh\necho 'MinJobAge               = 300 sec'\n"}).items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(slurm, "SECONDS", 1.0)
    return tmp_path


def spoil(program: Path, how: str | None) -> None:
    """Replace a program by a script, or remove it."""
    program.unlink()
    if how is not None:
        program.write_text(how)
        program.chmod(0o755)


@pytest.mark.parametrize("has_account", [True, False])
def test_a_cluster_that_works(has_account: bool, cluster: Path) -> None:
    """Nothing is refused, also if accounting is switched off and squeue shows ended jobs long enough."""
    require_slurm(has_account, "squeue", 20)
    spoil(cluster / "sacct", FAILS)
    require_slurm(has_account, "squeue", 20)


@pytest.mark.parametrize(
    ("program", "how", "has_account", "expected"),
    [
        ("sbatch", None, False, "sbatch is not on the PATH"),
        pytest.param("sinfo", HANGS, False, "sinfo does not answer within 1 seconds", marks=pytest.mark.full),
        ("squeue", FAILS, False, "squeue fails (error: Unable to contact slurm controller)"),
        ("squeue", None, False, "squeue cannot be started (No such file or directory)"),
        pytest.param("sacct", HANGS, False, "sacct does not answer within 1 seconds, which", marks=pytest.mark.full),
        ("sacct", None, False, "sacct cannot be started (No such file or directory), which tells your account"),
        pytest.param("sacctmgr", HANGS, True, "sacctmgr does not answer within 1 seconds", marks=pytest.mark.full),
        ("sacctmgr", None, True, "sacctmgr cannot be started (No such file or directory), which checks the account"),
    ],
)
def test_a_program_that_gives_no_answer(
    program: str, how: str | None, has_account: bool, expected: str, cluster: Path
) -> None:
    """The sentence names the program, the reason and the remedy."""
    spoil(cluster / program, how)
    with pytest.raises(QuireError) as caught:
        require_slurm(has_account, "squeue", 20)
    assert expected in str(caught.value)


@pytest.mark.parametrize("how", [pytest.param(HANGS, marks=pytest.mark.full), FAILS, None])
def test_sshare_is_needed_if_sacctmgr_fails(how: str | None, cluster: Path) -> None:
    """The plugin asks sshare then."""
    spoil(cluster / "sacctmgr", FAILS)
    require_slurm(True, "squeue", 20)
    spoil(cluster / "sshare", how)
    with pytest.raises(QuireError, match=r"sshare .*, which checks the account"):
        require_slurm(True, "squeue", 20)


def test_jobs_that_slurm_forgets(cluster: Path) -> None:
    """Without accounting, squeue must show ended jobs for longer than the time between two queries."""
    spoil(cluster / "sacct", FAILS)
    with pytest.raises(QuireError, match=r"squeue shows ended jobs only for 300 seconds \(MinJobAge\)"):
        require_slurm(False, "squeue", 120)
    with pytest.raises(QuireError, match="MinJobAge"):
        require_slurm(False, "sacct", 20)


def test_slurm_that_stops_answering(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pause is a line each way; if it lasts, the lock is removed and the run ends with one sentence."""
    monkeypatch.setattr(slurm, "SECONDS", 0.1)
    monkeypatch.setattr(slurm, "MOST_SECONDS", 0.5)
    said: list[str] = []
    ended, unlocked = threading.Event(), threading.Event()

    def end(status: int) -> None:
        assert status == 1
        ended.set()
        threading.Event().wait()

    monkeypatch.setattr(os, "_exit", end)
    spoil(cluster / "squeue", FAILS)
    watch_slurm(said.append, unlocked.set)
    assert ended.wait(20)
    assert unlocked.is_set()
    assert [line.partition(" ")[0] for line in said] == ["Slurm:"]
    assert "quire: error: Slurm: squeue" in capsys.readouterr().err
