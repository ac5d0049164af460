"""`composer.code`: the text it writes is plain JAX, formatted, and the same program."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import json
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import jax
import numpy as np
import pytest

import composer
from composer.plugin import Transform
from composer.transforms import CATALOGUE

REPOSITORY = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "code"
CASES, EXTRA, Case = map(runpy.run_path(str(DATA / "cases.py")).get, ("CASES", "EXTRA", "Case"))
SHIPPED = sorted((REPOSITORY / "pipelines").glob("**/*.yaml"))
PRIVATE = ("composer", "pluggy", "msgspec", "yaml", "click", "rich")


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written code sets the number of devices where nobody else has: it must not stay set."""
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: model.py, a pipeline for each case, and the code of each as NAME_code.py."""
    made = tmp_path_factory.mktemp("code")
    shutil.copy(DATA / "model.py", made)
    for name, text in {**{n: yaml(case) for n, case in CASES.items()}, **EXTRA}.items():
        (made / f"{name}.yaml").write_text(f"composer: 1\n{text}\n")
    return made


def yaml(case) -> str:
    return f"function: 'model:{case.function}'\n{case.more}\nstack: {case.stack}"


def written(folder: Path, name: str) -> tuple[composer.Pipeline, Path]:
    """The pipeline of a case, and the file with its code."""
    pipeline = composer.load(folder / f"{name}.yaml")
    file = folder / f"{name}_code.py"
    file.write_text(composer.code(pipeline, function="composed"))
    return pipeline, file


def imported(file: Path) -> ModuleType:
    """A module from its file, with its folder first on the path."""
    sys.path.insert(0, str(file.parent))
    kept = dict(os.environ)  # the code may set JAX up, for a process of its own
    try:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
        os.environ.clear()
        os.environ.update(kept)
        for name in ("model", "functions"):
            sys.modules.pop(name, None)
    return module


def program(fn, args, kwargs, static=frozenset()) -> str:
    """The jaxpr as text; arguments that are no arrays are closed over."""
    fixed = {i: arg for i, arg in enumerate(args) if callable(arg) or i in static}
    traced = [arg for i, arg in enumerate(args) if i not in fixed]

    def call(traced, kwargs):
        rest = iter(traced)
        return fn(*(fixed[i] if i in fixed else next(rest) for i in range(len(args))), **kwargs)

    return re.sub("0x[0-9a-f]+", "0x", str(jax.make_jaxpr(call)(traced, kwargs)))


def arguments(case) -> tuple[tuple, dict, frozenset[int]]:
    names = vars(imported(DATA / "model.py"))
    args = eval(case.args, {**names, "np": np})
    kwargs = eval(case.kwargs, {**names, "np": np})
    static = "static" in case.more or "static_" in case.stack or "lru_cache" in case.stack
    python = {i for i, arg in enumerate(args) if isinstance(arg, int)} if static else set()
    return args, kwargs, frozenset(python)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_code_is_the_same_program(name: str, folder: Path) -> None:
    pipeline, file = written(folder, name)
    args, kwargs, static = arguments(CASES[name])
    ours, theirs = pipeline.build(), imported(file).composed
    if name != "apply_factory":  # a cache takes no traced values
        found = [program(fn, args, kwargs, static) for fn in (theirs, ours)]
        if name.startswith("checkify"):  # each check gets the next number of a counter
            found = [re.sub(r"\b\d+:i32\[\]", "N:i32[]", text) for text in found]
        assert found[0] == found[1]
    # The text of a checkified program holds the numbers of the counter, too.
    if type(ours) is type(theirs) is type(jax.jit(abs)) and "checkify" not in name:
        assert theirs.lower(*args, **kwargs).as_text() == ours.lower(*args, **kwargs).as_text()


def test_every_word_of_the_catalogue_is_written_in_a_case() -> None:
    used = " ".join(case.stack for case in CASES.values())
    aliases = {"jacobian", "remat"}
    assert {word for word in CATALOGUE if not re.search(rf"\b{word}\b", used)} == aliases


@pytest.mark.parametrize("word", CATALOGUE)
def test_every_built_in_says_how_it_is_written(word: str) -> None:
    module, _, name = CATALOGUE[word].partition(":")
    cls = getattr(importlib.import_module(module), name)
    assert cls.code is not Transform.code


def test_all_code_is_formatted_and_imports_nothing_unused(folder: Path) -> None:
    files = [str(written(folder, name)[1]) for name in [*CASES, *EXTRA]]
    for number, path in enumerate(SHIPPED):
        file = folder / f"shipped_{number}.py"
        file.write_text(composer.code(composer.load(path)))
        files.append(str(file))
    for length in ("88", "100"):
        check = ["format", "--check", "--diff", "--isolated", "--line-length", length, *files]
        assert ruff(*check) == ""
    isort = "lint.isort.known-first-party=['model', 'functions', 'digits']"
    chosen = "E,F,I,W,B,UP,SIM,RET,PIE,C4"
    found = ruff("check", "--isolated", "--quiet", "--select", chosen, "--ignore", "SIM108",
                 "--target-version", "py311", "--config", isort, *files)  # fmt: skip
    assert found == ""


def ruff(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments], capture_output=True, text=True
    )
    return done.stdout if done.returncode else ""


CHILD = """
import importlib, json, sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PRIVATE:
            raise ModuleNotFoundError(f"refused: {name}")
sys.meta_path.insert(0, Refused())
given = json.loads(sys.stdin.read())
modules = {name: importlib.import_module(module) for name, (module, _, _) in given.items()}
import jax, numpy as np
found = {}
for name, (_, args, kwargs) in given.items():
    made = modules[name]
    names = {**vars(importlib.import_module(args[0])), "np": np, "module": made}
    out = made.composed(*eval(args[1], names), **eval(kwargs, names))
    jax.block_until_ready(out)
    found[name] = [str(np.asarray(leaf).tolist()) for leaf in jax.tree.leaves(out)]
assert not set(PRIVATE) & {name.partition(".")[0] for name in sys.modules}
print(json.dumps(found))
"""


def in_a_child(folder: Path, given: object, **environment: str) -> dict[str, list[str]]:
    """Outputs by name, computed where no package of composer's can be imported."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"PRIVATE = {PRIVATE}\n{CHILD}"],
        input=json.dumps(given), capture_output=True, text=True, cwd=folder,
        env={"PATH": os.environ["PATH"], "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(folder),
             "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def shown(out: object) -> list[str]:
    return [str(np.asarray(leaf).tolist()) for leaf in jax.tree.leaves(out)]


@pytest.mark.slow
def test_the_code_gives_the_same_numbers_where_there_is_only_jax(folder: Path) -> None:
    for name in CASES:
        written(folder, name)
    given = {
        name: (f"{name}_code", ("model", case.args), case.kwargs) for name, case in CASES.items()
    }
    found = in_a_child(folder, given, JAX_NUM_CPU_DEVICES="4")
    for name, case in CASES.items():
        args, kwargs, _ = arguments(case)
        expected = shown(composer.load(folder / f"{name}.yaml").build()(*args, **kwargs))
        if name in ("checkify", "checkify_sets"):  # the second is the number of a counter
            del found[name][1], expected[1]
        assert found[name] == expected, name


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_code_of_a_shipped_pipeline_is_the_same_program(path: Path, folder: Path) -> None:
    pipeline = composer.load(path)
    file = folder / f"{path.stem}_shipped.py"
    file.write_text(composer.code(pipeline, function="composed"))
    for module in path.parent.glob("*.py"):
        shutil.copy(module, folder)
    with jax.enable_x64(pipeline.run.enable_x64):
        args, kwargs = pipeline.args(), pipeline.kwargs()
        static = frozenset(i for i, arg in enumerate(args) if not jax.tree.leaves(arrays(arg)))
        ours, theirs = pipeline.build(), imported(file).composed
        assert program(theirs, args, kwargs, static) == program(ours, args, kwargs, static)


def arrays(tree: object) -> object:
    return jax.tree.map(lambda leaf: leaf if hasattr(leaf, "dtype") else None, tree)


@pytest.mark.slow
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_pipeline_gives_its_numbers_where_there_is_only_jax(
    path: Path, tmp_path: Path
) -> None:
    pipeline = composer.load(path)
    text = composer.code(pipeline, function="composed")
    (tmp_path / "composed_code.py").write_text(text)
    made = dict(re.findall(r"(\w+) is a function: pass (\w+)\.", text))
    for module in path.parent.glob("*.py"):
        shutil.copy(module, tmp_path)
    with jax.enable_x64(pipeline.run.enable_x64):
        args, kwargs = pipeline.args(), pipeline.kwargs()
        expected = shown(pipeline.build()(*args, **kwargs))
        names = list(inspect.signature(pipeline.build()).parameters)
        pairs = zip(names, args, strict=False)
        given = [f"function {made[name]}" if name in made else arg for name, arg in pairs]
        kept = jax.tree.map(portable, (given, kwargs))
    (tmp_path / "kept.pickle").write_bytes(pickle.dumps(kept))
    (tmp_path / "values.py").write_text(VALUES)
    given = {"it": ("composed_code", ("values", "ARGS"), "KWARGS")}
    assert in_a_child(tmp_path, given)["it"] == expected


VALUES = """
import pickle, jax, numpy as np
import composed_code

def back(leaf):
    if isinstance(leaf, str) and leaf.startswith("function "):
        return getattr(composed_code, leaf.partition(" ")[2])
    return jax.random.wrap_key_data(leaf["key"]) if isinstance(leaf, dict) else leaf

kept = pickle.loads(open("kept.pickle", "rb").read())
ARGS, KWARGS = jax.tree.map(back, kept, is_leaf=lambda x: isinstance(x, dict) and "key" in x)
"""


def portable(leaf: object) -> object:
    """A leaf that can be pickled, in which nothing is composer's."""
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return {"key": np.asarray(jax.random.key_data(leaf))}
    return np.asarray(leaf) if hasattr(leaf, "dtype") else leaf


def test_a_sub_pipeline_is_defined_beside_the_function_that_takes_it(folder: Path) -> None:
    _, file = written(folder, "sub_pipeline")
    module = imported(file)
    assert "Call composed(u, x).\nu is a function: pass u_function." in file.read_text()
    assert module.composed(module.u_function, 1.5) == 2 * 1.5 + 1


def test_a_factory_is_called_once_with_its_arguments(folder: Path) -> None:
    _, file = written(folder, "factory")
    assert "function = affine(scale=2.0, shift=1.0)\n" in file.read_text()
    assert imported(file).composed(np.array([3.0], np.float32)) == 7


def test_a_file_is_imported_by_its_stem_and_the_docstring_says_where_it_must_be(
    folder: Path,
) -> None:
    _, file = written(folder, "beside")
    assert "from model import doubled\n" in file.read_text()
    assert "The folder of model.py must be on the Python path." in file.read_text()


def test_the_name_is_the_pipelines_or_the_one_that_is_asked_for(folder: Path) -> None:
    pipeline = composer.load(folder / "split_jit.yaml")
    assert composer.code(pipeline).endswith("\nsplit_jit = jax.jit(pmap_loss)\n")
    taken = composer.code(composer.load(folder / "name_clash.yaml"))
    assert taken.endswith("\ncomposed = jax.jit(jax.grad(step, argnums=1))\n")
    with pytest.raises(composer.ComposeError) as caught:
        composer.code(pipeline, function="loss")
    assert (
        str(caught.value)
        == "CMP609 --function loss: that name is taken\n  write: --function loss_2"
    )


def test_lambdas_have_no_text() -> None:
    pipeline = composer.loads(
        "composer: 1\nfunction: f\nstack: [grad]", functions={"f": lambda x: x * x}
    )
    with pytest.raises(composer.ComposeError) as caught:
        composer.code(pipeline)
    assert str(caught.value) == (
        "CMP609 function: function holds a lambda, which no text stands for\n"
        "  write: a function at the top of a module, or plain numbers and words"
    )


class Stranger(Transform, frozen=True):
    """A transform of somebody else's, which does not say how it is written."""

    word = "stranger"

    def build(self, fn, ctx):
        return fn


def refused(*layers: Transform) -> str:
    whole = composer.loads("composer: 1\nfunction: f\nstack: []", functions={"f": np.sin})
    made = dataclasses.replace(whole, stack=tuple(map(composer.Layer, layers)))
    with pytest.raises(composer.ComposeError) as caught:
        composer.code(made)
    return str(caught.value)


def test_arrays_have_no_text() -> None:
    layer = composer.Partial(args=(np.ones(3),))
    assert refused(layer) == (
        "CMP609 partial: x holds an ndarray, which no text stands for\n"
        "  write: a function at the top of a module, or plain numbers and words"
    )


def test_a_strangers_transform_is_named_with_the_cure() -> None:
    assert refused(Stranger()) == (
        "CMP609 stranger: Stranger does not say how it is written as plain JAX\n"
        f"  write: def code(self, fn, ctx, page): ...     # in {__name__}"
    )


@pytest.mark.parametrize("name", ["split_grad", "static_deep", "split_pad"])
def test_the_text_reads_as_it_was_written_by_hand(name: str, folder: Path) -> None:
    text = written(folder, name)[1].read_text().replace(str(folder), "pipelines")
    assert text == (DATA / f"{name}.txt").read_text()
