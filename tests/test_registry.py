"""Words, plugins and watchers: found when they are named, refused when they break a promise."""

from __future__ import annotations

import ast
import importlib
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import composer
from composer import ComposerError, Grad, Jit, Layer, PipelineError, PluginError, compose, plugin
from composer._registry import Registry
from composer.errors import Place
from composer.plugin import Context, Transform, hookimpl
from composer.testing import Case, check_transform
from composer.transforms import CATALOGUE
from composer.transforms.vmap import Vmap

Fn = Callable[..., Any]

SCALE = '''
from typing import Annotated, ClassVar
from composer.plugin import Transform

class Scale(Transform):
    """Multiply the output by a factor."""

    word: ClassVar[str] = "scale"
    by: Annotated[float, "The factor."] = {factor}

    def build(self, fn, ctx):
        return lambda *args, **kwargs: self.by * fn(*args, **kwargs)
'''


class Site:
    """A folder of installed distributions, each with a module and its entry points."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def install(self, distribution: str, source: str, **groups: str) -> None:
        """Install a distribution with one module; `transforms="scale = Scale"` and the like."""
        module = f"{distribution.replace('-', '_')}_module"
        self.modules.append(module)
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")
        info = self.folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
        lines = []
        for group, line in groups.items():
            name, _, attribute = line.partition(" = ")
            target = f"{module}:{attribute}" if attribute else module
            lines.append(f"[composer.{group}]\n{name} = {target}\n")
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)


def loss(x: Any) -> Any:
    return x * x


def pipeline(folder: Path, *stack: str) -> composer.Pipeline:
    """A pipeline file with these layers, read from a folder where `loss` is."""
    (folder / "mine.py").write_text("def loss(x):\n    return x * x\n", encoding="utf-8")
    layers = "".join(f"  - {layer}\n" for layer in stack)
    text = f"composer: 1\nfunction: mine.py:loss\nstack:\n{layers}"
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    return composer.load(folder / "p.yaml")


def raised(kind: type[ComposerError], fn: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        fn()
    return str(caught.value)


# Words


def test_an_unknown_word_is_an_error_with_its_place_and_the_nearest_word() -> None:
    place = Place("p.yaml", 4, 5, "  - vmpa", 4)
    text = raised(PipelineError, lambda: Registry(built_in_only=True).load("vmpa", place))
    assert text == (
        "p.yaml:4:5: CMP034 there is no transform 'vmpa'\n"
        "    4 |   - vmpa\n"
        "      |     ^^^^\n"
        f"  transforms: {', '.join(sorted(CATALOGUE))}\n"
        "  write: - vmap"
    )


def test_a_word_that_is_like_no_other_gets_no_advice() -> None:
    assert "write:" not in raised(PipelineError, lambda: Registry().load("xxxxxxx"))


def test_every_built_in_word_loads_the_class_that_has_it_as_word_or_alias() -> None:
    registry = Registry(built_in_only=True)
    for word in CATALOGUE:
        cls = registry.load(word)
        assert word in (cls.word, *cls.aliases)
    assert registry.load("vmap") is Vmap
    assert dict(registry.words()) == dict.fromkeys(sorted(CATALOGUE), "built-in")


def test_a_word_of_an_installed_distribution_is_imported_only_when_it_is_named(site: Site) -> None:
    site.install("acme-scale", SCALE.format(factor=3.0), transforms="scale = Scale")
    assert Registry().words()["scale"] == "acme-scale"
    pipeline(site.folder, "grad", "jit").build()
    assert "acme_scale_module" not in sys.modules
    step = pipeline(site.folder, "grad", "scale", "jit").build()
    assert float(step(5.0)) == 3.0 * 2.0 * 5.0
    assert "acme_scale_module" in sys.modules


def test_sealed_text_has_built_in_words_only(site: Site) -> None:
    site.install("acme-scale", SCALE.format(factor=3.0), transforms="scale = Scale")
    text = "composer: 1\nfunction: f\nstack: [scale]"
    assert "CMP034 there is no transform 'scale'" in raised(
        PipelineError, lambda: composer.loads(text, functions={"f": loss})
    )
    assert "acme_scale_module" not in sys.modules


def test_two_distributions_that_claim_a_word_are_both_named_with_the_way_out(site: Site) -> None:
    site.install("acme-scale", SCALE.format(factor=3.0), transforms="scale = Scale")
    site.install("other-scale", SCALE.format(factor=7.0), transforms="scale = Scale")
    assert raised(PipelineError, lambda: pipeline(site.folder, "scale")).splitlines()[1:] == [
        "    4 |   - scale",
        "      |     ^^^^^",
        "  write: acme-scale:scale",
        "         other-scale:scale",
    ]
    assert raised(PluginError, lambda: Registry().load("scale")).startswith(
        "CMP601 'scale' is claimed by 2 distributions: acme-scale, other-scale\n"
    )
    assert float(pipeline(site.folder, "other-scale:scale").build()(2.0)) == 7.0 * 4.0
    assert Registry().words()["scale"] == "acme-scale, other-scale"


def test_a_broken_plugin_breaks_only_the_pipeline_that_names_it(site: Site) -> None:
    site.install("acme-scale", SCALE.format(factor=3.0), transforms="scale = Scale")
    site.install(
        "acme-broken", "raise ZeroDivisionError('at import')", transforms="broken = Broken"
    )
    assert float(pipeline(site.folder, "scale").build()(2.0)) == 3.0 * 4.0
    assert Registry().words()["broken"] == "acme-broken"
    assert raised(PipelineError, lambda: pipeline(site.folder, "broken")) == (
        f"{site.folder / 'p.yaml'}:4:5: CMP602 acme_broken_module:Broken of acme-broken cannot be"
        " loaded: ZeroDivisionError: at import\n"
        "    4 |   - broken\n"
        "      |     ^^^^^^\n"
        "  write: pip install --upgrade acme-broken, or tell its author"
    )


def test_what_a_broken_plugin_raised_is_the_cause(site: Site) -> None:
    site.install(
        "acme-broken", "raise ZeroDivisionError('at import')", transforms="broken = Broken"
    )
    with pytest.raises(PluginError) as caught:
        Registry().load("broken")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_word_whose_entry_point_names_no_class_is_refused(site: Site) -> None:
    site.install("acme-seven", "Seven = 7", transforms="seven = Seven")
    assert raised(PluginError, lambda: Registry().load("seven")) == (
        "CMP606 'seven' of acme-seven is 7, which is no transform class\n"
        "  write: a class that inherits composer.plugin.Transform"
    )


# Plugins


def test_a_plugin_that_is_not_installed_is_an_error_with_the_nearest_name(site: Site) -> None:
    site.install("acme-watch", "", plugins="watch")
    text = raised(PluginError, lambda: compose(loss, Jit(), plugins=("wacth",)))
    assert text.startswith("CMP602 there is no plugin 'wacth'\n")
    assert text.endswith("\n  write: watch")


def test_two_distributions_may_claim_a_plugin_s_name_if_the_user_says_which(site: Site) -> None:
    for name in ("acme-watch", "other-watch"):
        site.install(name, f"loaded = {name!r}", plugins="watch")
    text = raised(PluginError, lambda: Registry(("watch",)))
    assert text == (
        "CMP601 'watch' is claimed by 2 distributions: acme-watch, other-watch\n"
        "  write: acme-watch:watch\n"
        "         other-watch:watch"
    )
    Registry(("other-watch:watch",))
    assert "other_watch_module" in sys.modules


def test_a_plugin_that_offers_a_word_which_exists_is_refused() -> None:
    class Offers:
        @hookimpl
        def composer_transforms(self) -> Mapping[str, type[Transform]]:
            return {"vmap": Vmap}

    assert raised(PluginError, lambda: Registry().add(Offers(), "mine")) == (
        "CMP601 plugin 'mine' offers the word 'vmap', which exists already\n"
        "  write: another word in the plugin"
    )


def test_a_plugin_offers_words_as_classes_or_as_names_that_are_imported_on_use() -> None:
    class Offers:
        @hookimpl
        def composer_transforms(self) -> Mapping[str, type[Transform] | str]:
            return {"map2": Vmap, "grad2": "composer.transforms.grad:Grad", "bad": "no_such:X"}

    registry = Registry()
    registry.add(Offers(), "mine")
    assert registry.load("map2") is Vmap
    assert registry.load("grad2") is Grad
    assert raised(PluginError, lambda: registry.load("bad")) == (
        "CMP602 no_such:X of mine cannot be loaded:"
        " ModuleNotFoundError: No module named 'no_such'\n"
        "  write: pip install --upgrade mine, or tell its author"
    )


def test_a_misspelt_hook_is_refused_with_the_nearest_one() -> None:
    class Misspelt:
        @hookimpl
        def composer_wrp(self, fn: Fn) -> Fn:
            return fn

    assert raised(PluginError, lambda: Registry().add(Misspelt(), "mine")) == (
        "CMP603 plugin 'mine' implements 'composer_wrp', but there is no such hook\n"
        "  hooks: composer_traced, composer_tracing, composer_transforms, composer_wrap\n"
        "  write: composer_wrap"
    )


def test_a_hook_without_its_mark_or_with_other_arguments_is_refused() -> None:
    class Unmarked:
        def composer_wrap(self, fn: Fn) -> Fn:
            return fn

    class OtherArguments:
        @hookimpl
        def composer_traced(self, layer: Layer, minutes: float) -> None: ...

    assert raised(PluginError, lambda: Registry().add(Unmarked(), "mine")) == (
        "CMP607 plugin 'mine' implements a hook wrongly: composer_wrap is not marked, so it"
        " would never be called\n"
        "  write: @composer.plugin.hookimpl, and argument names as in the hook's description"
    )
    text = raised(PluginError, lambda: Registry().add(OtherArguments(), "mine"))
    assert text.startswith("CMP607 plugin 'mine' implements a hook wrongly: ")
    assert "minutes" in text


def test_a_plugin_may_import_what_is_called_composer_something() -> None:
    class Imports:
        composer_trace = sys

    Registry().add(Imports(), "mine")


# Watchers


def wrapped(*plugins: object, layer: Transform | None = None) -> Fn:
    """`loss` with one layer around it, while plugins called a, b, ... are registered."""
    registry = Registry()
    for name, item in zip("ab", plugins, strict=False):
        registry.add(item, name)
    ctx = Context(plugin.Signature(None), word="grad", name="loss")
    return registry.wrap(loss, Layer(layer or Grad()), ctx)


class Watches:
    def __init__(self) -> None:
        self.seen: list[str] = []

    @hookimpl(wrapper=True)
    def composer_wrap(self, layer: Layer) -> Generator[None, Fn, Fn]:
        self.seen.append(layer.word)
        return (yield)


class Replaces:
    @hookimpl(wrapper=True)
    def composer_wrap(self) -> Generator[None, Fn, Fn]:
        made = yield
        return lambda *args: made(*args)


class ReplacesFirst:
    # Innermost of all wrappers, whatever was registered before it.
    @hookimpl(wrapper=True, trylast=True)
    def composer_wrap(self) -> Generator[None, Fn, Fn]:
        yield
        return loss


class Answers:
    @hookimpl(tryfirst=True)
    def composer_wrap(self, fn: Fn) -> Fn:
        return fn


class Passes:
    @hookimpl
    def composer_wrap(self, fn: Fn) -> None:
        return None


def test_a_watcher_sees_each_layer_and_gets_what_the_layer_built() -> None:
    watcher = Watches()
    assert float(wrapped(watcher, Passes())(3.0)) == 6.0
    assert watcher.seen == ["grad"]


@pytest.mark.parametrize("watcher", [Replaces(), ReplacesFirst()])
def test_a_watcher_that_changes_the_function_is_named(watcher: object) -> None:
    assert raised(PluginError, lambda: wrapped(watcher)) == (
        "CMP605 plugin 'a' changed or replaced the function while grad was wrapped\n"
        "  write: return from composer_wrap what the wrapper was given"
    )
    assert raised(PluginError, lambda: wrapped(Watches(), watcher)).startswith(
        "CMP605 one of 'a', 'b' changed or replaced the function"
    )


def test_a_plugin_that_answers_for_a_layer_which_is_not_its_own_is_named() -> None:
    assert raised(PluginError, lambda: wrapped(Watches(), Answers())) == (
        "CMP604 plugin 'b' answered composer_wrap for grad, which only the transform itself"
        " may build\n"
        "  write: @hookimpl(wrapper=True) to watch, or a Transform with its own build"
    )


def test_a_build_that_returns_nothing_is_refused() -> None:
    class Forgets(Transform):
        word: ClassVar[str] = "forgets"

        def build(self, fn: Fn, ctx: Context) -> Any:
            return None

    assert raised(PluginError, lambda: wrapped(layer=Forgets())).endswith(
        "Forgets.build returned None, which cannot be called\n"
        "  write: return from build the function that it made"
    )


def test_a_build_that_composes_another_stack_does_not_confuse_the_check() -> None:
    class Nested(Transform):
        word: ClassVar[str] = "nested"

        def build(self, fn: Fn, ctx: Context) -> Fn:
            return compose(compose(fn, Grad()), Grad())

    assert float(compose(lambda x: x**3, Nested(), Jit())(2.0)) == 12.0


# A class of one's own


def test_a_transform_of_one_s_own_works_from_python_without_registration() -> None:
    class Shift(Transform):
        """Add a number to the output."""

        word: ClassVar[str] = "shift"
        by: Annotated[float, "What is added."] = 1.0

        def build(self, fn: Fn, ctx: Context) -> Fn:
            return lambda *args, **kwargs: fn(*args, **kwargs) + self.by

    assert float(compose(loss, Shift(by=10.0), Jit())(3.0)) == 19.0
    assert float(compose(loss, Grad(), Shift(), Shift(by=2.0))(3.0)) == 9.0


def test_the_author_s_example_works_as_it_is_written() -> None:
    example = textwrap.dedent((plugin.__doc__ or "").split("\n\n", 2)[2].split("\n\nLint ")[0])
    assert isinstance(ast.parse(example).body[0], ast.ClassDef)
    names: dict[str, Any] = {
        "Annotated": Annotated, "ClassVar": ClassVar, "Transform": Transform, "np": np,
        "__name__": __name__,
    }  # fmt: skip
    exec(example, names)
    scale = names["Scale"]
    assert jnp.allclose(
        compose(loss, scale(by=2.0), Jit())(jnp.arange(3.0)), 2 * np.arange(3.0) ** 2
    )
    check_transform(scale, [Case(scale(by=2.0), loss, (np.arange(3.0, dtype=np.float32),))])
