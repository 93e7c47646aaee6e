"""Refuse imports from outside an environment; stand_in_conda.py copies this file into each environment that it makes.

Snakemake appends its own search path to a script's, so that the script can unpickle its input. A package missing from
the environment would be found there on this machine, but not on the user's.
"""

import builtins
import json
import os
import sys

JOURNAL = "QUIRE_IMPORT_JOURNAL"  # a file that gets a line per process: its prefix and its last argument


def refuse(folders: list[str]) -> None:
    """Make imports of modules of these folders fail, except Snakemake's own and their imports."""
    if JOURNAL in os.environ:
        with open(os.environ[JOURNAL], "a") as stream:
            stream.write(json.dumps([sys.prefix, sys.orig_argv[-1]]) + "\n")
    beginnings = tuple(folder + os.sep for folder in folders)
    usual = builtins.__import__

    def is_foreign(file) -> bool:
        return isinstance(file, str) and file.startswith(beginnings)

    def guarded(name, globals=None, locals=None, fromlist=(), level=0):
        module = usual(name, globals, locals, fromlist, level)
        top = name.partition(".")[0]
        from_outside = is_foreign((globals or {}).get("__file__")) or top.startswith("snakemake")
        if level == 0 and not from_outside and is_foreign(getattr(sys.modules[top], "__file__", None)):
            raise ModuleNotFoundError(f"No module named {top!r} in {sys.prefix}, but in the environment of Snakemake")
        return module

    builtins.__import__ = guarded
