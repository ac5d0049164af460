"""The doctor thinks over recorded facts and recorded messages; every text is whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from composer._doctor import Command, Facts, Plugin, diagnose, explain, inspect_machine
from composer._doctor import facts as facts_module
from composer._doctor.facts import classify_command, parse_nvidia_smi

RECORDED = Path(__file__).parent / "data" / "doctor"

PACKAGES: Mapping[str, str] = {"jax-composer": "0.1.0", "jax": "0.12.0.1", "jaxlib": "0.12.0.1"}
CPU = Facts(
    python=(3, 13, 0),
    platform="Linux x86_64",
    packages=PACKAGES,
    jaxlib_wanted="<=0.12.0.1,>=0.11.2",
    devices=("cpu:0 cpu",),
)
GPU = replace(
    CPU,
    packages={
        **PACKAGES,
        "jax-cuda13-plugin": "0.12.0.1",
        "jax-cuda13-pjrt": "0.12.0.1",
        "nvidia-cudnn-cu13": "9.13.1.26",
    },
    devices=("cuda:0 NVIDIA H200",),
    gpus=("NVIDIA H200",),
    driver="580.65.06",
)

BY_DRIVER = """\
pip install --upgrade "jax-composer[cuda13]"   # driver 580 or newer
         pip install --upgrade "jax-composer[cuda12]"   # driver 525.60.13 or newer"""
OTHER_LIBRARIES = f"unset LD_LIBRARY_PATH\n         {BY_DRIVER}"

EXPLAINED = {
    "jaxlib_newer": """\
CMP093 jaxlib 0.4.26 is newer than jax 0.4.25
  write: pip install --upgrade jax jaxlib""",
    "jaxlib_older": """\
CMP093 jaxlib 0.10.0 is too old for this jax, which needs 0.11.2 or newer
  write: pip install --upgrade jax jaxlib""",
    "plugin_version": """\
CMP094 jax-cuda12-plugin 0.9.2 does not fit jaxlib 0.9.0.1: JAX will not use the GPU
  write: pip install --upgrade "jax[cuda12]" jaxlib""",
    "pjrt_api": f"""\
CMP094 the GPU plugin speaks version 0.54 of JAX's plugin interface, but jaxlib speaks 0.51: \
they come from different releases
  write: {BY_DRIVER}""",
    "cudnn_missing": f"""\
CMP097 cuDNN cannot be loaded: it is missing, or LD_LIBRARY_PATH leads elsewhere
  write: {OTHER_LIBRARIES}""",
    "cublas_missing": f"""\
CMP097 libcublasLt.so.12 cannot be loaded: it is missing, or LD_LIBRARY_PATH leads elsewhere
  write: {OTHER_LIBRARIES}""",
    "cuda_older": f"""\
CMP097 JAX was built for CUDA 12.2, but the older CUDA 12.1 is found first
  write: {OTHER_LIBRARIES}""",
    "cudnn_outdated": f"""\
CMP097 JAX was built for cuDNN 90101, but the older cuDNN 8907 is found first
  write: {OTHER_LIBRARIES}""",
    "cudnn_runtime": f"""\
CMP097 JAX was built for cuDNN 9.13.1, but the older cuDNN 9.10.1 is found first
  write: {OTHER_LIBRARIES}""",
    "driver_old": """\
CMP096 NVIDIA driver 510.47.3 is too old for the CUDA that JAX was built for: \
CUDA 12 needs 525.60.13, CUDA 13 needs 580
  write: install NVIDIA driver 580 or newer""",
    "driver_insufficient": f"""\
CMP096 the NVIDIA driver is too old for the CUDA that JAX was built for: \
CUDA 12 needs 525.60.13, CUDA 13 needs 580
  write: {BY_DRIVER}""",
    "no_gpu_old": f"""\
CMP095 warning: JAX runs on the CPU: its plugin for this machine's GPU is not installed
  write: {BY_DRIVER}""",
    "no_gpu": f"""\
CMP095 warning: JAX runs on the CPU: its plugin for this machine's GPU is not installed
  write: {BY_DRIVER}""",
    "no_device": """\
CMP095 CUDA offers JAX no GPU: another process holds its memory, or CUDA_VISIBLE_DEVICES names none
  write: nvidia-smi   # who uses the GPU?
         unset CUDA_VISIBLE_DEVICES""",
    "unknown_backend": """\
CMP088 JAX cannot start the backend "cuda"
  it said: Backend 'cuda' is not in the list of known backends: ['cpu', 'tpu'].
  write: unset JAX_PLATFORMS""",
    "jaxlib_cuda_build": f"""\
CMP098 jaxlib==0.3.25+cuda11.cudnn82 is a retired kind of build: CUDA is a plugin beside jaxlib now
  write: {BY_DRIVER}""",
    "retired_extra": f"""\
CMP098 jax[cuda12_pip] is retired: pip warns that it does not know the extra, and installs JAX \
for the CPU
  write: {BY_DRIVER}

CMP098 warning: the page jax_cuda_releases.html lists retired builds: the builds of today are on \
the package index, so no --find-links is needed
  write: leave out -f, --find-links and their value""",
    "unknown_extra": f"""\
CMP098 jax[cuda11-pip] is retired: pip warns that it does not know the extra, and installs JAX \
for the CPU
  write: {BY_DRIVER}""",
    "plain_cuda_extra": f"""\
CMP098 info: jax[cuda] does not say which CUDA: it means CUDA 12 today
  write: {BY_DRIVER}""",
    "python_old": """\
CMP089 jax==0.12.0.1 needs a newer Python than this one: Python 3.11 gets jax 0.10.2 at most
  write: python3.12 -m venv .venv
         .venv/bin/pip install jax-composer""",
    "no_jax": """\
CMP091 jaxlib is not installed
  write: pip install jax-composer""",
}


def told(facts: Facts) -> str:
    """The whole text of what the doctor says about the facts."""
    return "\n".join(finding.render() for finding in diagnose(facts))


def with_packages(facts: Facts, **versions: str | None) -> Facts:
    """The facts with other versions; `jax_cuda13_plugin=None` takes a package away."""
    packages = dict(facts.packages)
    for name, version in versions.items():
        packages.pop(name.replace("_", "-"), None)
        if version is not None:
            packages[name.replace("_", "-")] = version
    return replace(facts, packages=packages)


def test_every_recorded_message_has_its_explanation_in_this_file() -> None:
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(EXPLAINED)


@pytest.mark.parametrize("name", sorted(EXPLAINED))
def test_a_recorded_message_is_explained_with_its_cure(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    assert "\n\n".join(finding.render() for finding in explain(text)) == EXPLAINED[name]


@pytest.mark.parametrize(
    "command",
    [
        "pip install jax==0.4.23 jaxlib==0.4.23+cuda11.cudnn86",
        "pip install jax[cuda111]==0.2.17",
        "pip install 'jax[cuda11_cudnn82]'",
        "pip install 'jax[cpu,cuda11_local]'",
    ],
)
def test_a_retired_install_command_is_an_error(command: str) -> None:
    assert [(d.code, d.severity) for d in explain(command)] == [("CMP098", "error")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pip install -U 'jax[cuda12]'",
        "pip install 'jax[cuda13_local]' 'jax[tpu]' jax[cpu]",
        "ValueError: vmap was requested to map its argument along axis 0",
    ],
)
def test_what_is_current_or_unknown_is_not_explained(text: str) -> None:
    assert explain(text) == []


@pytest.mark.parametrize("facts", [CPU, GPU])
def test_a_machine_on_which_all_fits_gets_no_diagnosis(facts: Facts) -> None:
    assert told(facts) == ""


def test_a_jaxlib_that_is_newer_than_jax_is_named_with_both_versions() -> None:
    assert told(with_packages(CPU, jax="0.11.2")) == (
        "CMP093 jaxlib 0.12.0.1 is newer than jax 0.11.2\n  write: pip install --upgrade jax jaxlib"
    )


def test_a_jaxlib_that_is_older_than_jax_asks_for_is_named_with_what_it_asks() -> None:
    assert told(with_packages(CPU, jaxlib="0.10.2")) == (
        "CMP093 jax 0.12.0.1 needs jaxlib<=0.12.0.1,>=0.11.2, but jaxlib 0.10.2 is installed\n"
        "  write: pip install --upgrade jax jaxlib"
    )


def test_an_older_jaxlib_that_jax_accepts_is_fine() -> None:
    assert told(with_packages(CPU, jaxlib="0.11.2")) == ""


def test_a_missing_jaxlib_is_named() -> None:
    assert told(with_packages(replace(CPU, devices=()), jaxlib=None)) == (
        "CMP091 jaxlib is not installed\n  write: pip install jax-composer"
    )


def test_a_cuda_plugin_of_another_version_than_jaxlib_is_why_the_gpu_is_unused() -> None:
    facts = with_packages(replace(GPU, devices=("cpu:0 cpu",)), jax_cuda13_plugin="0.11.2")
    assert told(facts) == (
        "CMP094 jax-cuda13-plugin 0.11.2 does not fit jaxlib 0.12.0.1: JAX will not use the GPU\n"
        '  write: pip install --upgrade "jax[cuda13]" jaxlib'
    )


@pytest.mark.parametrize(("driver", "goes"), [("580.65.06", 12), ("535.183.01", 13)])
def test_of_two_cuda_plugins_the_one_that_the_driver_cannot_use_best_goes(
    driver: str, goes: int
) -> None:
    facts = with_packages(replace(GPU, driver=driver), jax_cuda12_plugin="0.12.0.1")
    assert told(facts) == (
        "CMP094 the plugins for CUDA 12 and for CUDA 13 are both installed, "
        "and only one can be used\n"
        f"  write: pip uninstall jax-cuda{goes}-plugin jax-cuda{goes}-pjrt"
    )


@pytest.mark.parametrize(("driver", "extra"), [("580.65.06", "cuda13"), ("535.183.01", "cuda12")])
def test_a_gpu_beside_a_jax_for_the_cpu_gets_the_extra_that_its_driver_can_run(
    driver: str, extra: str
) -> None:
    assert told(replace(CPU, gpus=("NVIDIA A100",), driver=driver)) == (
        f"CMP095 warning: an NVIDIA GPU (NVIDIA A100, driver {driver}) is present, "
        "but JAX is installed for the CPU only\n"
        f'  write: pip install "jax-composer[{extra}]"'
    )


def test_a_driver_that_is_too_old_for_any_jax_is_a_warning_until_a_plugin_needs_it() -> None:
    facts = replace(CPU, gpus=("Tesla K80",), driver="470.82.01")
    text = (
        "NVIDIA driver 470.82.01 is too old for JAX: CUDA 12 needs 525.60.13, CUDA 13 needs 580\n"
        "  write: install NVIDIA driver 580 or newer"
    )
    assert told(facts) == f"CMP096 warning: {text}"
    assert told(with_packages(facts, jax_cuda12_plugin="0.12.0.1")) == f"CMP096 {text}"


def test_a_driver_for_cuda_12_beside_the_plugin_for_cuda_13_says_how_to_change_it() -> None:
    assert told(replace(GPU, driver="535.183.01", devices=("cpu:0 cpu",))) == (
        "CMP096 NVIDIA driver 535.183.01 is too old for CUDA 13, which needs 580\n"
        "  write: pip uninstall jax-cuda13-plugin jax-cuda13-pjrt\n"
        '         pip install "jax-composer[cuda12]"'
    )


def test_cuda_libraries_on_the_search_path_are_an_error_only_if_the_gpu_is_unused() -> None:
    text = (
        "LD_LIBRARY_PATH puts other CUDA libraries before those that pip installed for JAX\n"
        "  found in: /usr/local/cuda/lib64\n"
        "  write: unset LD_LIBRARY_PATH"
    )
    facts = replace(GPU, cuda_folders=("/usr/local/cuda/lib64",))
    assert told(facts) == f"CMP097 warning: {text}"
    assert told(replace(facts, devices=("cpu:0 cpu",))) == f"CMP097 {text}"


def test_cuda_libraries_on_the_search_path_are_right_for_a_plugin_without_its_own() -> None:
    facts = replace(GPU, cuda_folders=("/usr/local/cuda/lib64",))
    assert told(with_packages(facts, nvidia_cudnn_cu13=None)) == ""


@pytest.mark.parametrize(
    ("name", "value"), [("JAX_PLATFORMS", "cpu"), ("CUDA_VISIBLE_DEVICES", "-1")]
)
def test_a_gpu_that_a_variable_hides_on_purpose_is_only_mentioned(name: str, value: str) -> None:
    facts = replace(GPU, devices=("cpu:0 cpu",), env={name: value})
    assert told(facts) == (
        "CMP095 info: an NVIDIA GPU (NVIDIA H200, driver 580.65.06) is present, "
        f"but {name}='{value}' hides it from JAX\n"
        f"  write: unset {name}"
    )


def test_a_gpu_that_stays_unseen_for_no_known_reason_is_an_error() -> None:
    assert told(replace(GPU, devices=("cpu:0 cpu",), env={"JAX_PLATFORMS": "cuda,cpu"})) == (
        "CMP095 an NVIDIA GPU (NVIDIA H200, driver 580.65.06) is present and JAX's plugin for it "
        "is installed, but JAX does not see it\n"
        '  write: TF_CPP_MIN_LOG_LEVEL=0 python -c "import jax; jax.devices()" 2>&1 '
        "| composer doctor --explain -"
    )


def test_a_jax_that_does_not_start_is_told_with_its_last_line() -> None:
    error = "Traceback (most recent call last):\nImportError: libstdc++.so.6: version not found"
    assert told(replace(CPU, devices=(), device_error=error)) == (
        "CMP088 JAX does not start on this machine\n"
        "  it said: ImportError: libstdc++.so.6: version not found"
    )


def test_why_jax_does_not_start_is_explained_from_what_it_printed() -> None:
    error = (RECORDED / "unknown_backend.txt").read_text(encoding="utf-8")
    facts = replace(CPU, devices=(), device_error=error, env={"JAX_PLATFORMS": "cuda"})
    assert told(facts) == EXPLAINED["unknown_backend"]


def test_a_cause_is_told_once_when_both_the_versions_and_the_message_show_it() -> None:
    error = (
        "RuntimeError: jaxlib version 0.12.0.1 is newer than and incompatible with jax version "
        "0.11.2. Please update your jax and/or jaxlib packages."
    )
    facts = with_packages(replace(CPU, devices=(), device_error=error), jax="0.11.2")
    assert [finding.code for finding in diagnose(facts)] == ["CMP093", "CMP088"]


def test_python_3_11_is_told_which_jax_is_its_last() -> None:
    assert told(replace(CPU, python=(3, 11, 7))) == (
        "CMP089 info: Python 3.11 gets jax 0.10.2 at most: newer JAX needs Python 3.12\n"
        "  write: python3.12 -m venv .venv\n"
        "         .venv/bin/pip install jax-composer"
    )


def test_another_distribution_of_the_same_name_is_an_error() -> None:
    assert told(replace(CPU, others=("mosaicml",))) == (
        'CMP099 the distribution "mosaicml" also owns the package or the command "composer": '
        "whichever was installed last overwrote the other\n"
        "  write: pip uninstall mosaicml\n"
        "         pip install --force-reinstall --no-deps jax-composer"
    )


def test_another_program_of_the_same_name_is_a_warning_that_gives_our_other_name() -> None:
    assert told(replace(CPU, command=Command("/usr/bin/composer", "PHP"))) == (
        'CMP099 warning: the command "composer" on the PATH is PHP\'s: /usr/bin/composer\n'
        "  write: jax-composer run FILE"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#!/usr/bin/env php\n<?php\nPhar::mapPhar('composer.phar');\n", "PHP"),
        ("#!/opt/bin/python\nfrom composer.cli.launcher import main\nmain()\n", "Python"),
        ("#!/bin/sh\nexec true\n", ""),
    ],
)
def test_a_command_that_is_not_ours_is_told_by_its_head(
    tmp_path: Path, text: str, kind: str
) -> None:
    path = tmp_path / "composer"
    path.write_text(text, encoding="utf-8")
    assert classify_command(path) == Command(str(path), kind)


def test_our_own_console_script_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "composer"
    path.write_text("#!/opt/bin/python\nimport sys\nfrom composer.cli import main\nmain()\n")
    assert classify_command(path) is None


def test_the_output_of_nvidia_smi_gives_the_names_and_the_driver() -> None:
    text = "NVIDIA H200, 580.65.06\nNVIDIA H200, 580.65.06\n"
    assert parse_nvidia_smi(text) == (("NVIDIA H200", "NVIDIA H200"), "580.65.06")
    assert parse_nvidia_smi("") == ((), None)


def test_only_folders_that_hold_cuda_libraries_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "libcudart.so.12").touch()
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/other:{tmp_path}/cuda::{tmp_path}/none")
    monkeypatch.setattr(facts_module, "_devices", lambda timeout: ((), None))
    assert inspect_machine().cuda_folders == (f"{tmp_path}/cuda",)


def test_this_machine_is_seen_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3")
    import jaxlib

    facts = inspect_machine()
    assert facts.python == sys.version_info[:3]
    assert facts.packages["jaxlib"] == jaxlib.__version__
    assert facts.jaxlib_wanted is not None
    assert facts.jaxlib_wanted.startswith("<=")
    assert facts.devices == ("cpu:0 cpu", "cpu:1 cpu", "cpu:2 cpu")
    assert facts.device_error is None
    assert facts.env["XLA_FLAGS"] == "--xla_force_host_platform_device_count=3"


def test_installed_plugins_are_listed_with_their_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "jax_composer_offload-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jax-composer-offload\n")
    (info / "entry_points.txt").write_text("[composer.transforms]\noffload = nowhere:Offload\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(facts_module, "_devices", lambda timeout: ((), None))
    assert Plugin("offload", "composer.transforms", "jax-composer-offload") in (
        inspect_machine().plugins
    )


def test_a_jax_that_aborts_its_process_does_not_take_the_doctor_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts_module, "_ASK_FOR_DEVICES", "import os; os.abort()")
    facts = inspect_machine()
    assert facts.devices == ()
    assert facts.device_error == "the process that imports JAX ended with code -6"


def test_a_jax_that_hangs_is_left_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "_ASK_FOR_DEVICES", "import time; time.sleep(60)")
    facts = inspect_machine(timeout=0.5)
    assert facts.device_error == "no answer from JAX within 0.5 seconds"


def test_the_doctor_imports_neither_jax_nor_a_plugin() -> None:
    code = (
        "import sys, composer._doctor as d; d.facts._devices = lambda timeout: ((), None); "
        "d.diagnose(d.inspect_machine()); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
