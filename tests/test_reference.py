"""References: `module:name`, beside the file first."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from composer._reference import folder_first, project_folder, resolve
from composer.errors import InputError


@pytest.fixture(autouse=True)
def _same_modules_afterwards() -> Iterator[None]:
    before, path = dict(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)
    assert sys.path == path


def folder(base: Path, **modules: str) -> Path:
    base.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (base / f"{name}.py").write_text(text)
    return base


def refused(ref: str, base: Path | None) -> InputError:
    with pytest.raises(InputError) as caught:
        resolve(ref, folder=base)
    return caught.value


def test_a_module_on_the_python_path_is_found_without_a_folder() -> None:
    assert resolve("math:sqrt", folder=None) is math.sqrt
    assert resolve("os.path:join", folder=None).__name__ == "join"  # type: ignore[attr-defined]


def test_a_method_is_reached_through_its_class(tmp_path: Path) -> None:
    base = folder(tmp_path, zoo="class Cat:\n    @staticmethod\n    def say(): return 'miau'\n")
    assert resolve("zoo:Cat.say", folder=base)() == "miau"  # type: ignore[operator]


def test_two_folders_with_a_model_each_get_their_own(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", model="import helper\nwho = helper.who", helper="who = 1")
    two = folder(tmp_path / "two", model="import helper\nwho = helper.who", helper="who = 2")
    assert [resolve("model:who", folder=base) for base in (one, two, one, two)] == [1, 2, 1, 2]


def test_a_module_is_imported_once_even_where_its_name_belongs_to_another(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", model="thing = object()")
    two = folder(tmp_path / "two", model="thing = object()", other="from model import thing")
    first = resolve("model:thing", folder=one)
    second = resolve("model:thing", folder=two)
    assert first is not second
    assert resolve("model:thing", folder=one) is first
    assert resolve("model:thing", folder=two) is second
    assert resolve("other:thing", folder=two) is second


def test_packages_without_init_in_two_folders_are_kept_apart_too(tmp_path: Path) -> None:
    folder(tmp_path / "one" / "parts", net="who = 1")
    folder(tmp_path / "two" / "parts", net="who = 2")
    found = [resolve("parts.net:who", folder=tmp_path / name) for name in ("one", "two", "one")]
    assert found == [1, 2, 1]


def test_a_module_that_is_imported_from_the_same_file_is_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = folder(tmp_path, already_there="thing = object()")
    monkeypatch.syspath_prepend(str(base))
    import already_there  # type: ignore[import-not-found]

    assert resolve("already_there:thing", folder=base) is already_there.thing


def test_a_file_is_named_relative_to_the_folder(tmp_path: Path) -> None:
    folder(tmp_path / "sub", net="import near\nwho = near.who", near="who = 7")
    assert resolve("sub/net.py:who", folder=tmp_path) == 7


def test_a_file_outside_the_project_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    base = folder(tmp_path / "project")
    folder(tmp_path, outer="who = 3")
    error = refused("../outer.py:who", base)
    assert str(error) == (
        "CMP068 ../outer.py is outside the project\n"
        f"  project: {base}\n"
        "  write: a path inside the project, or run with --allow-outside"
    )
    assert resolve("../outer.py:who", folder=base, allow_outside=True) == 3


def test_a_link_out_of_the_project_is_outside(tmp_path: Path) -> None:
    base = folder(tmp_path / "project")
    (base / "inner.py").symlink_to(folder(tmp_path, outer="who = 3") / "outer.py")
    assert refused("inner.py:who", base).diagnostics[0].code == "CMP068"


def test_the_project_is_the_nearest_folder_with_a_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    inner = folder(tmp_path / "a" / "b")
    assert project_folder(inner) == tmp_path
    folder(tmp_path / "shared_code", net="who = 4")
    assert resolve("../../shared_code/net.py:who", folder=inner) == 4


def test_a_missing_module_is_named_with_what_stands_beside_the_file(tmp_path: Path) -> None:
    base = folder(tmp_path, model="f = 1", utils="g = 1")
    assert str(refused("modle:f", base)) == (
        "CMP069 modle:f: there is no module 'modle'\n"
        f"  searched: {base}, then the Python path\n"
        "  modules there: model, utils\n"
        "  write: model:f"
    )


def test_a_missing_name_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    base = folder(tmp_path, model="def loss(): ...\ndef accuracy(): ...\n")
    assert str(refused("model:los", base)) == (
        "CMP069 model:los: model has no 'los'\n"
        "  it has: accuracy, loss\n"
        f"  from: {base / 'model.py'}\n"
        "  write: model:loss"
    )


def test_an_exception_in_the_users_module_is_the_cause(tmp_path: Path) -> None:
    base = folder(tmp_path, model="x = 1 / 0\n")
    error = refused("model:x", base)
    assert error.diagnostics[0].code == "CMP069"
    assert "fails when it is imported: ZeroDivisionError: division by zero" in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].filename == str(base / "model.py")


def test_a_missing_import_inside_the_users_module_is_not_taken_for_the_module(
    tmp_path: Path,
) -> None:
    base = folder(tmp_path, model="import not_installed_anywhere\n")
    error = refused("model:x", base)
    assert "module 'model' fails when it is imported: ModuleNotFoundError" in str(error)
    assert isinstance(error.__cause__, ModuleNotFoundError)


def test_a_module_that_ends_the_process_is_an_error_too(tmp_path: Path) -> None:
    error = refused("model:x", folder(tmp_path, model="raise SystemExit(5)\n"))
    assert isinstance(error.__cause__, SystemExit)


def test_a_file_named_as_a_module_of_python_is_refused_not_mixed_up(tmp_path: Path) -> None:
    base = folder(tmp_path, random="def f(): ...\n")
    assert "has the name of a module that everybody else needs" in str(refused("random:f", base))
    assert "has the name of a module that everybody else needs" in str(refused("random.py:f", base))


def test_a_missing_file_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    error = refused("modle.py:f", folder(tmp_path, model="f = 1"))
    assert str(error) == (
        f"CMP069 modle.py: there is no such file\n  searched: {tmp_path}\n  write: model.py"
    )


def test_an_import_inside_a_function_works_while_the_folder_is_first(tmp_path: Path) -> None:
    base = folder(
        tmp_path, model="def f():\n    import late\n    return late.who\n", late="who = 9"
    )
    found = resolve("model:f", folder=base)
    with folder_first(base):
        assert found() == 9  # type: ignore[operator]
    assert "late" in sys.modules
