"""`make bench`: composer against hand-written JAX, equinox, flax nnx and Hydra, in one run.

Benchmarks, not tests: a busy machine moves the numbers, so a missed target fails the
process with `--strict` only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata

# Before JAX is imported: the cost of a call is that of the CPU, also where a GPU is.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import calls
import composing
import reading
from measure import Row

PACKAGES = ("jax", "jaxlib", "jax-composer", "equinox", "flax", "hydra-core")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say with the exit code whether a target was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    skipped: dict[str, str] = {}
    found = [*calls.rows(skipped), *composing.rows(skipped), *reading.rows()]
    if options.json:
        document = {"versions": versions(), "skipped": skipped, "rows": [asdict(r) for r in found]}
        print(json.dumps(document, indent=2))
    else:
        show(found, skipped)
    missed = any(row.met is False for row in found)
    return int(options.strict and missed)


def versions() -> dict[str, str]:
    """What was measured, on what."""
    known = {"python": platform.python_version(), "machine": f"{os.cpu_count()} CPUs"}
    for package in PACKAGES:
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            known[package] = "not installed"
    return known


def show(rows: Sequence[Row], skipped: dict[str, str]) -> None:
    """The table, in 80 columns."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=80, highlight=False)
    console.print(", ".join(f"{name} {version}" for name, version in versions().items()))
    table = Table(box=None, pad_edge=False)
    table.add_column("median of many, interleaved", no_wrap=True)
    for head in ("time", "ratio", "target", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for group, members in itertools.groupby(rows, lambda row: row.group):
        table.add_row(f"[bold]{group}")
        for row in members:
            share = "" if row.ratio is None else f"{row.ratio:.3f}"
            verdict = {None: "", True: "met", False: "[bold]MISSED"}[row.met]
            table.add_row(f"  {row.what}", in_units(row.seconds), share, row.target, verdict)
    console.print(table)
    console.print("ratio: to the first line of its block; in reading, to 100 layers")
    for name, reason in skipped.items():
        console.print(f"skipped {name}: {reason}", markup=False)


def in_units(seconds: float) -> str:
    """Three digits, in microseconds or milliseconds."""
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    sys.exit(main())
