"""`composer doctor` prints a table and the findings; --json one document; exit codes 0, 1, 3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from composer import _doctor
from composer._doctor import Command, Facts, Plugin
from composer.cli.doctor import command

FINE = Facts(
    python=(3, 13, 0),
    platform="Linux x86_64",
    packages={"jax-composer": "0.1.0", "jax": "0.12.0.1", "jaxlib": "0.12.0.1"},
    jaxlib_wanted="<=0.12.0.1,>=0.11.2",
    devices=("cpu:0 cpu", "cpu:1 cpu"),
    plugins=(Plugin("trace", "composer.plugins", "jax-composer-trace"),),
    env={"JAX_PLATFORMS": "cpu"},
)
BROKEN = Facts(
    python=(3, 13, 0),
    platform="Linux x86_64",
    packages={"jax-composer": "0.1.0", "jax": "0.11.2", "jaxlib": "0.12.0.1"},
    command=Command("/usr/bin/\x1b[31mcomposer", "PHP"),
)


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setattr(_doctor, "inspect_machine", lambda: FINE)
    monkeypatch.setenv("COLUMNS", "120")
    return CliRunner()


def ask(runner: CliRunner, *arguments: str, text: str | None = None) -> Result:
    return runner.invoke(command, list(arguments), input=text)


def test_a_machine_on_which_all_fits_is_shown_as_a_table_and_exits_with_0(
    doctor: CliRunner,
) -> None:
    result = ask(doctor)
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Python          3.13.0",
        "platform        Linux x86_64",
        "jax-composer    0.1.0",
        "jax             0.12.0.1",
        "jaxlib          0.12.0.1",
        "devices         cpu:0 cpu",
        "                cpu:1 cpu",
        "plugins         trace from jax-composer-trace",
        "other composer  none",
        "JAX_PLATFORMS   cpu",
        "",
        "nothing is wrong",
    ]
    assert result.exit_code == 0


def test_an_error_is_printed_below_the_table_and_exits_with_3(
    doctor: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor, "inspect_machine", lambda: BROKEN)
    result = ask(doctor)
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert "devices         none: JAX does not start" in lines
    assert "other composer  /usr/bin/\\x1b[31mcomposer" in lines
    assert result.stdout.endswith(
        "\nCMP093 jaxlib 0.12.0.1 is newer than jax 0.11.2\n"
        "  write: pip install --upgrade jax jaxlib\n"
        '\nCMP099 warning: the command "composer" on the PATH is PHP\'s: '
        "/usr/bin/\\x1b[31mcomposer\n"
        "  write: jax-composer run FILE\n"
    )
    assert "\x1b" not in result.stdout
    assert result.exit_code == 3


def test_json_is_one_document_with_the_facts_and_the_findings(
    doctor: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor, "inspect_machine", lambda: BROKEN)
    result = ask(doctor, "--json")
    document = json.loads(result.stdout)
    assert document["facts"]["packages"]["jax"] == "0.11.2"
    assert document["facts"]["command"]["kind"] == "PHP"
    assert [(d["code"], d["severity"]) for d in document["diagnostics"]] == [
        ("CMP093", "error"),
        ("CMP099", "warning"),
    ]
    assert result.exit_code == 3


def test_a_message_on_standard_input_is_explained(doctor: CliRunner) -> None:
    message = "RuntimeError: jaxlib version 0.4.26 is newer than and incompatible with jax version "
    result = ask(doctor, "--explain", "-", text=message + "0.4.25. Please update")
    assert result.stdout == (
        "CMP093 jaxlib 0.4.26 is newer than jax 0.4.25\n  write: pip install --upgrade jax jaxlib\n"
    )
    assert result.exit_code == 3


def test_a_file_with_an_install_command_is_explained(doctor: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "install.txt"
    file.write_text("pip install jax[cuda]", encoding="utf-8")
    result = ask(doctor, "--json", "--explain", str(file))
    document = json.loads(result.stdout)
    assert document["known"] is True
    assert [d["message"] for d in document["diagnostics"]] == [
        "jax[cuda] does not say which CUDA: it means CUDA 12 today"
    ]
    assert result.exit_code == 0


def test_a_text_of_which_nothing_is_known_says_so_and_exits_with_1(doctor: CliRunner) -> None:
    result = ask(doctor, "--explain", "-", text="hello")
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == "nothing in this text is known to composer doctor"
    assert result.exit_code == 1


def test_a_file_that_does_not_exist_is_wrong_usage(doctor: CliRunner) -> None:
    assert ask(doctor, "--explain", "nowhere.txt").exit_code == 2
