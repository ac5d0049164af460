"""What is shipped, and that the tested set is pinned by version alone."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIN = re.compile(r'[A-Za-z0-9._-]+==[0-9][0-9.]*(?:; python_version (?:<|>=) "3\.12")?')


def name_of(requirement: str) -> str:
    """The normalised name of the distribution that a requirement asks for."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def pins() -> list[str]:
    """The lines of the constraints file without its comments."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_the_wheel_holds_the_package_its_type_marker_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"composer", "jax_composer-0.1.0.dist-info"}
    assert "composer/py.typed" in names
    assert "composer/errors.py" in names
    assert "jax_composer-0.1.0.dist-info/licenses/LICENSE" in names


def test_the_constraints_pin_by_version_and_hold_no_url() -> None:
    assert [line for line in pins() if not PIN.fullmatch(line)] == []


def test_every_declared_dependency_is_pinned() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *(r for extra in extras.values() for r in extra)]
    assert {name_of(r) for r in declared} - {name_of(line) for line in pins()} == set()


def test_jax_is_pinned_to_its_last_release_for_python_3_11_and_to_the_newest_above() -> None:
    assert 'jax==0.10.2; python_version < "3.12"' in pins()
    assert 'jax==0.12.0.1; python_version >= "3.12"' in pins()
    assert 'jaxlib==0.10.2; python_version < "3.12"' in pins()
    assert 'jaxlib==0.12.0.1; python_version >= "3.12"' in pins()
