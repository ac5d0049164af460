"""Run a pipeline: devices, arguments, one call, outputs, and what is left behind."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import jax
import jax.numpy as jnp

from composer._devices import first_devices
from composer._pipeline import Pipeline
from composer._reference import folder_first
from composer._run.arguments import Arguments, Origin, read_arguments
from composer._run.devices import simulate_devices
from composer._run.functions import build, function_of
from composer._run.manifest import (
    check_folder,
    describe_arguments,
    describe_machine,
    describe_pipeline,
    run_folder,
    write_manifest,
)
from composer._run.outputs import Row, rows
from composer._run.writing import destination, write_outputs
from composer._signature import Output, signature_of
from composer.errors import Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long a call took.

    Attributes:
        compile: Tracing and compiling; None where these are not separate from the call.
        run: The call itself, with waiting for its outputs.
    """

    compile: float | None
    run: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    Attributes:
        outputs: What the composed callable returned.
        rows: A row of facts for each array in it.
        seconds: How long it took.
        written: The file that `write:` names, if any.
        manifest: What the run left behind, if anything.
        facts: The manifest's content.
    """

    outputs: object
    rows: tuple[Row, ...]
    seconds: Seconds
    written: Path | None
    manifest: Path | None
    facts: dict[str, object]


def run_pipeline(
    pipeline: Pipeline,
    *,
    devices: int | None = None,
    x64: bool | None = None,
    outdir: Path | None = None,
    allow_outside: bool = False,
    command: Sequence[str] = (),
) -> RunResult:
    """Compose, read the arguments, call once, wait, write, and leave a manifest.

    Args:
        pipeline: From `composer.load` or `composer.loads`.
        devices: Simulate so many CPU devices, instead of `run: simulate_devices`.
        x64: 64-bit numbers, instead of `run: enable_x64`.
        outdir: Where the manifest goes, instead of `runs` in the project.
        allow_outside: Whether paths may lie outside the project.
        command: What was typed, for the manifest.

    Raises:
        SetupError: too few devices, a package is missing.
        InputError: an argument's value cannot be had, or an output cannot be written.
        ComposeError: the stack does not fit the function.
        Exception: whatever the function itself raises.
    """
    started = datetime.now(UTC)
    with _world(pipeline, devices, x64):
        target = _target(pipeline, allow_outside)
        fn = build(pipeline, allow_outside=allow_outside)
        arguments = read_arguments(pipeline, fn, allow_outside=allow_outside)
        check_folder(pipeline, outdir)
        outputs, seconds = timed_call(fn, arguments)
        names = output_names(pipeline, allow_outside)
        table = rows(outputs, names)
        if target is not None:
            write_outputs(outputs, target, names, _place(pipeline, "write", "file"))
        facts: dict[str, object] = {
            **describe_pipeline(pipeline),
            "command": list(command),
            "started": started.isoformat(timespec="seconds"),
            "seconds": {"compile": seconds.compile, "run": seconds.run},
            **describe_machine(pipeline),
            "enable_x64": jnp.result_type(float) == jnp.float64,
            "arguments": describe_arguments(arguments),
            "outputs": [row.to_data() for row in table],
            "written": str(target) if target is not None else None,
        }
        folder = run_folder(pipeline, outdir, started)
        manifest = write_manifest(folder, facts) if folder is not None else None
    return RunResult(outputs, table, seconds, target, manifest, facts)


@contextlib.contextmanager
def _world(pipeline: Pipeline, devices: int | None, x64: bool | None) -> Iterator[None]:
    """Devices, number width and module folder, as the pipeline and its caller want them."""
    count = devices if devices is not None else pipeline.run.simulate_devices
    if count is not None:
        simulate_devices(count, None if devices else _place(pipeline, "run", "simulate_devices"))
    if pipeline.mesh:
        first_devices(math.prod(pipeline.mesh.values()), "mesh", _place(pipeline, "mesh"))
    if x64 is None and pipeline.run.enable_x64:
        x64 = True
    # The folder stays first during the call: functions import what they need when traced.
    with folder_first(pipeline.folder), contextlib.ExitStack() as stack:
        if x64 is not None:
            stack.enter_context(jax.enable_x64(x64))
        yield


def _target(pipeline: Pipeline, allow_outside: bool) -> Path | None:
    """Where the outputs go, checked before anything is computed."""
    if pipeline.write is None:
        return None
    place = _place(pipeline, "write", "file")
    return destination(pipeline.write.file, pipeline.folder, place, allow_outside)


def output_names(pipeline: Pipeline, allow_outside: bool = False) -> Output:
    """Names of the outputs of the composed callable, as far as they are known."""
    origin = Origin(pipeline.folder, pipeline.document, allow_outside, pipeline.functions)
    function = function_of(pipeline.function, origin, _place(pipeline, "function"))
    signature = signature_of(function, pipeline.output)
    for layer in pipeline.stack:
        signature = layer.transform.signature(signature)
    return signature.output


def timed_call(fn: Callable[..., object], arguments: Arguments) -> tuple[object, Seconds]:
    """Call once, on arguments that lie where the function wants them, and wait.

    Where `fn` is JAX's own jitted object it is compiled first, which tells where each
    argument belongs, and times both parts.
    """
    if isinstance(fn, jax.stages.Wrapped):
        start = time.perf_counter()
        compiled = fn.lower(*arguments.args, **arguments.kwargs).compile()
        compiling = time.perf_counter() - start
        traced = arguments.traced()
        if _structure(traced) == compiled.in_tree:
            args, kwargs = _waited(jax.device_put(traced, compiled.input_shardings))
            outputs, running = _timed(compiled, args, kwargs)
            return outputs, Seconds(compiling, running)
    placed = {
        name: value if name in arguments.static else jax.device_put(value)
        for name, value in arguments.values.items()
    }
    args = tuple(placed[name] for name in list(placed)[: len(arguments.args)])
    kwargs = {name: placed[name] for name in arguments.kwargs}
    outputs, running = _timed(fn, args, kwargs)
    return outputs, Seconds(None, running)


def _timed(
    fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> tuple[object, float]:
    start = time.perf_counter()
    outputs = _waited(fn(*args, **kwargs))
    return outputs, time.perf_counter() - start


def _waited(tree: T) -> T:
    found: T = jax.block_until_ready(tree)
    return found


def _structure(tree: object) -> object:
    return jax.tree.structure(tree)


def _place(pipeline: Pipeline, *path: str) -> Place | None:
    return None if pipeline.document is None else pipeline.document.place(*path)
