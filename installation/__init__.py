"""The package `quire` of an installation: its modules are the library in the workflow, as in a clone.

The workflow's files stay together, so that jobs in environments of their own find the library beside the scripts.
"""

from pathlib import Path

__path__ = [str(Path(__file__).parent / "workflow_files/workflow/scripts/quire")]

from quire import start as start
