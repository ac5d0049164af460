"""`module:function` -> the object: beside the file first, then on the Python path.

Names beside a file belong to that file's folder: two folders that each have a
`model.py` get their own, also for what these modules import from beside them.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Final, TypeAlias

from composer.errors import InputError, Place, fail, nearest

_Wanted: TypeAlias = Callable[[str, ModuleType], bool]

# Files with such names are not let in front: they would break every other import.
_NEVER: Final = sys.stdlib_module_names | {"composer", "jax", "jaxlib", "numpy"}


def resolve(
    ref: str, *, folder: Path | None, place: Place | None = None, allow_outside: bool = False
) -> object:
    """The object that a reference names; this imports, and so runs, the user's module.

    Args:
        ref: `module:name`, `package.module:name`, `module:Class.method` or
            `file.py:name`, the file relative to `folder`.
        folder: Where the pipeline's file is; None for text without a file.
        place: Where the reference is written.
        allow_outside: Whether `file.py` may lie outside the project.

    Raises:
        InputError: CMP069, if there is no such module or name, or if the module fails
            when it is imported (then the module's own exception is the cause); CMP068,
            for a file outside the project.
    """
    where, _, name = ref.partition(":")
    if where.endswith(".py"):
        file = _file(where, folder, place, allow_outside)
        module = _import(file.stem, file.parent, ref, place)
    else:
        module = _import(where, folder, ref, place)
    return _attribute(module, name, ref, place)


def project_folder(folder: Path) -> Path:
    """The project that a folder belongs to: the nearest one above with a pyproject.toml or .git.

    The folder itself, where none is found.
    """
    folder = folder.resolve()
    for above in (folder, *folder.parents):
        if (above / "pyproject.toml").is_file() or (above / ".git").exists():
            return above
    return folder


def inside_project(
    path: str, folder: Path | None, place: Place | None, allow_outside: bool = False
) -> Path:
    """A path relative to the pipeline's folder, followed through links, inside the project.

    Raises:
        InputError: CMP068.
    """
    base = (folder or Path.cwd()).resolve()
    found = (base / path).resolve()
    project = project_folder(base)
    if allow_outside or found.is_relative_to(project):
        return found
    raise fail(
        InputError,
        "CMP068",
        f"{path} is outside the project",
        place=place,
        notes=[f"project: {project}"],
        cure="a path inside the project, or run with --allow-outside",
    )


@contextlib.contextmanager
def folder_first(folder: Path | None) -> Iterator[None]:
    """While this lasts, imports look into the folder first, and find its own modules there.

    Modules of the same names from elsewhere are put aside, and put back afterwards.
    """
    if folder is None:
        yield
        return
    folder = folder.resolve()
    aside = _put_aside(_others(folder))
    sys.modules.update(_stashed(folder))
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        taken = {_top(name) for name in aside}
        own = _put_aside(lambda name, module: _top(name) in taken and _is_in(folder, name, module))
        # sys.modules is the one table of modules that Python keeps; a name that cannot
        # be imported holds the ones whose own name belongs to another folder's module.
        sys.modules.update({_stash_name(name, folder): module for name, module in own.items()})
        sys.modules.update(aside)


def _import(name: str, folder: Path | None, ref: str, place: Place | None) -> ModuleType:
    if folder is not None and _top(name) in _NEVER & _names_in(folder):
        raise fail(
            InputError,
            "CMP069",
            f"{ref}: {_top(name)}.py has the name of a module that everybody else needs",
            place=place,
            notes=[f"found: in {folder}"],
            cure=f"another name for the file, such as my_{ref}",
        )
    with folder_first(folder):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                raise _no_module(name, folder, ref, place) from None
            raise _broken(name, error, ref, place) from error
        except (Exception, SystemExit) as error:
            raise _broken(name, error, ref, place) from error


def _attribute(module: ModuleType, name: str, ref: str, place: Place | None) -> object:
    found: object = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            known = [word for word in dir(found) if not word.startswith("_")]
            close = nearest(part, known)
            owner = module.__name__ if found is module else getattr(found, "__name__", name)
            shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise fail(
                InputError,
                "CMP069",
                f"{ref}: {owner} has no {part!r}",
                place=place,
                notes=[f"it has: {shown or 'no names'}", f"from: {_file_of(module)}"],
                cure=ref.removesuffix(part) + close if close else None,
            ) from None
    return found


def _no_module(name: str, folder: Path | None, ref: str, place: Place | None) -> Exception:
    beside = sorted(_names_in(folder)) if folder is not None else []
    close = nearest(_top(name), beside)
    searched = "the Python path" if folder is None else f"{folder}, then the Python path"
    notes = [f"searched: {searched}"]
    if beside:
        notes.append(f"modules there: {', '.join(beside[:12])}")
    return fail(
        InputError,
        "CMP069",
        f"{ref}: there is no module {name!r}",
        place=place,
        notes=notes,
        cure=f"{close}:{ref.partition(':')[2]}" if close else None,
    )


def _broken(name: str, error: BaseException, ref: str, place: Place | None) -> Exception:
    text = str(error).split("\n", 1)[0]
    return fail(
        InputError,
        "CMP069",
        f"{ref}: module {name!r} fails when it is imported: {type(error).__name__}: {text}",
        place=place,
        cure="code that imports without an error: try `python -c 'import " + name + "'` there",
    )


def _file(where: str, folder: Path | None, place: Place | None, allow_outside: bool) -> Path:
    file = inside_project(where, folder, place, allow_outside)
    if not file.is_file() or "." in file.stem:
        close = nearest(file.name, [other.name for other in file.parent.glob("*.py")])
        what = "there is no such file" if not file.is_file() else "a module's name has no dot"
        raise fail(
            InputError,
            "CMP069",
            f"{where}: {what}",
            place=place,
            notes=[f"searched: {file.parent}"],
            cure=where.removesuffix(file.name) + close if close and close != file.name else None,
        )
    return file


def _names_in(folder: Path) -> frozenset[str]:
    """Names of the modules and packages in a folder."""
    modules = {file.stem for file in folder.glob("*.py")}
    return frozenset(modules | {file.parent.name for file in folder.glob("*/*.py")})


def _others(folder: Path) -> _Wanted:
    """Tells modules from elsewhere whose names mean something else in this folder."""
    regular = {file.stem for file in folder.glob("*.py")}
    regular |= {file.parent.name for file in folder.glob("*/__init__.py")}
    regular -= _NEVER
    # A folder without __init__.py is a namespace package, and Python lets every regular
    # package of the same name go first: only another namespace package may be put aside.
    namespaces = _names_in(folder) - regular - _NEVER

    def wanted(name: str, module: ModuleType) -> bool:
        top = _top(name)
        if top in namespaces:
            whole = sys.modules.get(top)
            if whole is None or _file_of(whole) is not None:
                return False
        return top in regular | namespaces and not _is_in(folder, name, module)

    return wanted


def _put_aside(wanted: _Wanted) -> dict[str, ModuleType]:
    """Take modules out of sys.modules, and return them."""
    found = {name: module for name, module in list(sys.modules.items()) if wanted(name, module)}
    for name in found:
        del sys.modules[name]
    return found


def _is_in(folder: Path, name: str, module: ModuleType) -> bool:
    """Whether a module was loaded from this folder, under this name."""
    file = _file_of(module)
    if file is None:
        places = list(getattr(module, "__path__", []))
        return bool(places) and Path(places[0]).resolve() == folder / name.replace(".", "/")
    file = file.resolve()
    return file == folder / f"{_top(name)}.py" or file.is_relative_to(folder / _top(name))


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _stash_name(name: str, folder: Path) -> str:
    return f"{name} in {folder}"


def _stashed(folder: Path) -> dict[str, ModuleType]:
    """Modules of the folder that were put aside before, under their own names."""
    ending = _stash_name("", folder)
    return {n.removesuffix(ending): m for n, m in sys.modules.items() if n.endswith(ending)}
