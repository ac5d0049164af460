"""The plugin as a user has it: installed, found by its entry point, loaded when it is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from composer_trace import Record, Recorder, records
from composer_trace._report import chrome_trace, table
from composer_trace.plugin import recorder

import composer
from composer import Grad, Jit, Layer, PluginError, Vmap
from composer.plugin import Context, Signature

PIPELINE = """\
composer: 1
name: small
function: small:loss
args:
  w: {value: [1.0, 2.0]}
  x: {value: [[1.0, 2.0], [3.0, 4.0]]}
stack:
  - grad
  - vmap: {in_axes: {x: 0}}
  - jit
"""
MODULE = "def loss(w, x):\n    return (w * x).sum()\n"


def make_loss() -> Callable[[jax.Array, jax.Array], jax.Array]:
    """A new function each time: composing around the same one gives what was composed before."""

    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return (w * x).sum()

    return loss


W, X = jnp.array([1.0, 2.0]), jnp.array([[1.0, 2.0], [3.0, 4.0]])
STACK = (Grad(), Vmap(in_axes={"x": 0}), Jit())


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    recorder.clear()
    yield
    recorder.clear()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "small.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def python(folder: Path, *arguments: str, file: str | None = None) -> tuple[str, str]:
    """What a fresh process writes to stdout and to stderr."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "COLUMNS": "80"}
    environment.pop("JAX_COMPOSER_TRACE", None)
    if file is not None:
        environment["JAX_COMPOSER_TRACE"] = file
    process = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout, process.stderr


def of_kind(kind: str) -> list[Record]:
    return [record for record in records() if record.kind == kind]


def labels(text: str) -> list[str]:
    """The first column of a printed table."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ")]


def test_the_plugin_is_loaded_only_by_a_pipeline_that_names_it(project: Path) -> None:
    script = (
        "import sys, composer\n"
        "plain = composer.load('small.yaml').build()\n"
        "plain.lower(*composer.load('small.yaml').args())\n"
        "assert not any(name.startswith('composer_trace') for name in sys.modules)\n"
        "composer.load('small.yaml', plugins=('trace',)).build()\n"
        "assert 'composer_trace.plugin' in sys.modules\n"
    )
    _, stderr = python(project, "-c", script)
    assert labels(stderr) == ["layer", "grad", "vmap", "jit"]


def test_a_file_names_it_with_plugins_and_its_table_goes_to_stderr(project: Path) -> None:
    (project / "small.yaml").write_text(f"{PIPELINE}plugins: [trace]\n", encoding="utf-8")
    stdout, stderr = python(project, "-m", "composer", "run", "small.yaml", "--json")
    json.loads(stdout)
    assert labels(stderr) == ["layer", "loss()", "grad", "vmap", "jit"]


def test_the_command_line_names_it_with_p(project: Path) -> None:
    _, stderr = python(project, "-m", "composer", "run", "small.yaml", "-p", "trace")
    head, _, *rows = stderr.splitlines()
    assert head == "trace 1: loss"
    places = [row.split()[1] for row in rows[1:]]
    assert places == ["small.yaml:8:5", "small.yaml:9:5", "small.yaml:10:5"]


def test_without_the_name_nothing_is_written(project: Path) -> None:
    _, stderr = python(project, "-m", "composer", "run", "small.yaml")
    assert "trace" not in stderr


def test_each_layer_has_one_record_of_its_wrap_with_word_and_place(project: Path) -> None:
    composer.load(project / "small.yaml", plugins=("trace",)).build()
    found = of_kind("wrap")
    assert [record.word for record in found] == ["grad", "vmap", "jit"]
    assert [record.number for record in found] == [0, 1, 2]
    assert [str(record.place).rpartition("small.yaml")[2] for record in found] == [
        ":8:5", ":9:5", ":10:5",
    ]  # fmt: skip
    assert all(record.seconds > 0 for record in found)
    assert of_kind("trace") == []


def test_each_layer_has_one_record_of_its_trace_and_none_for_calls_of_the_program() -> None:
    step = composer.compose(make_loss(), *STACK, plugins=("trace",))
    for _ in range(3):
        step(W, X)
    found = of_kind("trace")
    assert [record.word for record in found] == [None, "grad", "vmap", "jit"]
    assert [record.number for record in found] == [-1, 0, 1, 2]
    assert all(record.seconds > 0 for record in found)
    assert {record.function for record in found} == {"loss"}
    step(W, X[:1])
    assert len(of_kind("trace")) == 8


def test_own_time_is_the_time_without_the_layers_inside() -> None:
    composer.compose(make_loss(), *STACK, plugins=("trace",))(W, X)
    inner, *outer = of_kind("trace")
    assert inner.own == inner.seconds
    for record in outer:
        assert record.own == pytest.approx(record.seconds - inner.seconds, abs=1e-12)
        assert record.started <= inner.started
        inner = record


def test_the_program_is_the_same_and_the_composed_object_is_still_jax_s_own() -> None:
    loss = make_loss()
    watched = composer.compose(loss, *STACK, plugins=("trace",))
    plain = composer.compose(loss, *STACK)
    assert watched is not plain
    assert type(watched) is type(jax.jit(make_loss()))
    assert str(jax.make_jaxpr(watched)(W, X)) == str(jax.make_jaxpr(plain)(W, X))
    assert watched.lower(W, X).as_text() == plain.lower(W, X).as_text()
    assert watched(W, X).tolist() == X.tolist()


def test_an_inner_jit_prints_the_same_program_too() -> None:
    stack = (Jit(), Vmap(in_axes={"x": 0}))
    watched = composer.compose(make_loss(), *stack, plugins=("trace",))
    plain = composer.compose(make_loss(), *stack)
    assert str(jax.make_jaxpr(watched)(W, X)) == str(jax.make_jaxpr(plain)(W, X))


def test_two_composed_callables_do_not_mix_up() -> None:
    def other(w: jax.Array, x: jax.Array) -> jax.Array:
        return (w + x).sum()

    first = composer.compose(make_loss(), *STACK, plugins=("trace",))
    second = composer.compose(other, Grad(), Jit(), plugins=("trace",))
    second(W, W)
    first(W, X)
    numbers = {record.function: record.composition for record in records()}
    assert numbers["other"] == numbers["loss"] + 1
    for name, words in (("loss", ["grad", "vmap", "jit"]), ("other", ["grad", "jit"])):
        mine = [record for record in records() if record.composition == numbers[name]]
        assert {record.function for record in mine} == {name}
        assert [record.word for record in mine if record.kind == "wrap"] == words
        assert [record.word for record in mine if record.kind == "trace"] == [None, *words]


def test_static_values_build_the_stack_again_in_the_same_composition() -> None:
    def power(x: jax.Array, n: int) -> jax.Array:
        return x**n

    step = composer.compose(power, Grad(), Jit(), static="n", plugins=("trace",))
    assert step(3.0, n=2) == 6.0
    assert step(3.0, n=3) == 27.0
    assert len({record.composition for record in records()}) == 1
    assert [record.word for record in of_kind("wrap")] == ["jit", "grad", "grad"]
    assert [record.word for record in of_kind("trace")] == [None, "grad", "jit"] * 2


def test_without_jit_each_call_is_a_trace() -> None:
    slope = composer.compose(make_loss(), Grad(), plugins=("trace",))
    slope(W, W)
    slope(W, W)
    assert [record.word for record in of_kind("trace")] == [None, "grad"] * 2


def test_the_exception_of_the_user_s_function_passes_and_is_recorded() -> None:
    def wrong(x: jax.Array) -> jax.Array:
        raise ZeroDivisionError("mine")

    step = composer.compose(wrong, Grad(), Jit(), plugins=("trace",))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            step(1.0)
        assert caught.value.args == ("mine",)
    assert [record.word for record in of_kind("trace")] == [None, "grad", "jit"] * 2


def test_threads_that_trace_at_once_keep_their_own_times() -> None:
    inside = threading.Barrier(2, timeout=60)

    def make(name: str) -> Callable[[float], jax.Array]:
        def meets(x: jax.Array) -> jax.Array:
            inside.wait()
            return x * x

        meets.__name__ = name
        return composer.compose(meets, Grad(), Jit(), plugins=("trace",))

    threads = [threading.Thread(target=make(name), args=(3.0,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("one", "two"):
        mine = [record for record in of_kind("trace") if record.function == name]
        assert [record.word for record in mine] == [None, "grad", "jit"]
        assert len({record.thread for record in mine}) == 1
        assert mine[2].seconds == pytest.approx(sum(record.own for record in mine), abs=1e-12)


def test_a_plugin_that_is_not_installed_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(PluginError) as caught:
        composer.compose(make_loss(), Jit(), plugins=("trase",))
    assert str(caught.value) == (
        "CMP602 there is no plugin 'trase'\n  installed: trace\n  write: trace"
    )


def told(limit: int, calls: int) -> Recorder:
    """A recorder that was told of so many traces of one layer."""
    watcher = Recorder(limit)
    ctx = Context(Signature(()), name="loss", composition=threading.Event())
    for _ in range(calls):
        watcher.composer_tracing()
        watcher.composer_traced(Layer(Grad(), id="slope"), ctx, 0.25)
    return watcher


def test_records_above_the_limit_are_counted_and_the_table_says_so() -> None:
    watcher = told(limit=2, calls=5)
    assert len(watcher.records()) == 2
    assert watcher.dropped == 3
    assert table(watcher.records(), watcher.dropped) == (
        "trace 1: loss\n"
        "  layer       place  wrapped  ms  traced      ms  own ms\n"
        "  grad slope                           2  500.00  500.00\n"
        "3 more records were not kept\n"
    )
    watcher.clear()
    assert (watcher.records(), watcher.dropped) == ((), 0)
    assert table(watcher.records()) == ""


def test_a_trace_viewer_gets_microseconds_and_places() -> None:
    (event,) = chrome_trace(told(limit=1, calls=1).records())["traceEvents"]
    assert (event["name"], event["cat"], event["ph"]) == ("grad slope", "trace", "X")
    assert (event["dur"], event["args"]["own_us"]) == (250_000.0, 250_000.0)


def test_the_variable_names_a_file_for_a_trace_viewer_instead_of_the_table(project: Path) -> None:
    arguments = ("-m", "composer", "run", "small.yaml", "-p", "trace")
    _, stderr = python(project, *arguments, file="trace.json")
    written = json.loads((project / "trace.json").read_text(encoding="utf-8"))
    events = written["traceEvents"]
    traced = [event["name"] for event in events if event["cat"] == "trace"]
    assert traced == ["loss()", "grad", "vmap", "jit"]
    assert [event["args"]["place"] for event in events if event["name"] == "vmap"] == [
        "small.yaml:9:5"
    ] * 2
    assert f"jax-composer-trace: {len(events)} records in {project / 'trace.json'}\n" in stderr
    assert "own ms" not in stderr


def test_a_file_that_cannot_be_written_is_said_in_one_line(project: Path) -> None:
    arguments = ("-m", "composer", "run", "small.yaml", "-p", "trace")
    _, stderr = python(project, *arguments, file="no/such/folder.json")
    wanted = project / "no/such/folder.json"
    assert stderr == (
        f"jax-composer-trace: {wanted} cannot be written: No such file or directory\n"
    )
