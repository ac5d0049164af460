"""Arrays from files, written by NumPy, safetensors or by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from composer._run.files import read_file
from composer._sources import File, parse_source
from composer.errors import ComposerError, InputError, SetupError


def read(base: Path, file: str, **parts: object) -> np.ndarray:
    source = parse_source({"file": file, **parts})
    assert isinstance(source, File)
    return read_file(source, base / file, None)


def refused(base: Path, file: str, **parts: object) -> str:
    with pytest.raises(ComposerError) as caught:
        read(base, file, **parts)
    return str(caught.value)


def test_numpys_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    x, y = np.arange(6, dtype=np.float64).reshape(2, 3), np.array([1, 2], np.int8)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "xy.npz", x=x, y=y)
    np.savez(tmp_path / "only.npz", y=y)
    np.testing.assert_array_equal(read(tmp_path, "x.npy"), x)
    np.testing.assert_array_equal(read(tmp_path, "xy.npz", key="x"), x)
    assert read(tmp_path, "only.npz").dtype == np.int8


def test_safetensors_keep_bfloat16(tmp_path: Path) -> None:
    wanted = np.array([1, 2.5], ml_dtypes.bfloat16)
    safetensors.numpy.save_file({"w": wanted, "b": np.ones(1)}, tmp_path / "m.safetensors")
    found = read(tmp_path, "m.safetensors", key="w")
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, wanted)


def test_a_missing_safetensors_package_is_the_environments_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.safetensors").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "safetensors"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(SetupError) as caught:
        read(tmp_path, "m.safetensors", key="w")
    assert str(caught.value) == (
        "CMP091 m.safetensors: reading it needs the package safetensors, which is not installed\n"
        "  write: pip install safetensors"
    )
    assert caught.value.exit_code == 3


def test_columns_of_a_table_are_picked_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffa,b,name\n1,2.5,x\n3,4,y\n\n", encoding="utf-8")
    assert read(tmp_path, "t.csv", key="a").tolist() == [1, 3]
    assert read(tmp_path, "t.csv", key="a").dtype == np.int64
    assert read(tmp_path, "t.csv", key=["b", "a"]).tolist() == [[2.5, 1], [4, 3]]


def test_a_table_without_a_header_is_one_array(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1;2\n3;4.5\n")
    assert read(tmp_path, "t.csv", delimiter=";").tolist() == [[1, 2], [3, 4.5]]
    assert read(tmp_path, "t.csv", delimiter=";", header=True).tolist() == [[3, 4.5]]


def test_a_column_of_words_is_refused_with_the_numeric_ones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,name\n1,2.5,x\n3,4,y\n")
    assert refused(tmp_path, "t.csv") == (
        "CMP063 t.csv: line 2, column name: 'x' is no number\n  write: key: [a, b]"
    )


def test_a_gap_in_a_table_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,\n")
    assert refused(tmp_path, "t.csv", key="b") == (
        "CMP063 t.csv: line 3, column b: '' is no number"
    )
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    assert "line 3 has 1 columns, but the first row has 2" in refused(tmp_path, "t.csv")
    (tmp_path / "t.csv").write_text("")
    assert refused(tmp_path, "t.csv") == "CMP063 t.csv: there are no rows in it"


def test_an_unknown_column_gets_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("height,weight\n1,2\n")
    assert refused(tmp_path, "t.csv", key="hight") == (
        "CMP064 t.csv has no column 'hight'\n  keys: height, weight\n  write: key: height"
    )
    (tmp_path / "n.csv").write_text("1,2\n")
    assert "n.csv has no header, so no column 'a'" in refused(tmp_path, "n.csv", key="a")
    (tmp_path / "d.csv").write_text("a,a\n1,2\n")
    assert "d.csv has 2 columns 'a'" in refused(tmp_path, "d.csv", key="a")


def test_an_unknown_key_gets_the_keys_there_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", images=np.ones(1), labels=np.ones(1))
    assert refused(tmp_path, "d.npz", key="image") == (
        "CMP064 d.npz has no 'image'\n  keys: images, labels\n  write: key: images"
    )
    assert refused(tmp_path, "d.npz") == (
        "CMP064 d.npz holds 2 arrays\n  keys: images, labels\n  write: key: images"
    )


def test_a_missing_file_gets_the_nearest_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "digits.npz", x=np.ones(1))
    assert refused(tmp_path, "digit.npz") == (
        "CMP063 digit.npz: there is no such file\n"
        f"  searched: {tmp_path / 'digit.npz'}\n"
        "  write: file: digits.npz"
    )


@pytest.mark.parametrize("name", ["d.npz", "d.npy", "d.safetensors", "d.csv"])
def test_a_file_of_something_else_is_an_input_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x93\xff\x00 nonsense")
    with pytest.raises(InputError) as caught:
        read(tmp_path, name)
    assert caught.value.diagnostics[0].code == "CMP063"


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "CMP063" in refused(tmp_path, "o.npy")
