# SPDX-License-Identifier: Apache-2.0
"""Help appears at once: only commands that need slow modules import them.

Times depend on the machine's load, so these tests check the imports. measure_startup.py beside this
file measures the times.
"""

import json
import subprocess
import sys

import pytest

SLOW = ("rich", "numpy", "matplotlib", "scipy", "pandas", "h5py", "zarr", "sklearn")
COMMANDS = [
    ["--help"],
    ["--version"],
    ["doctor", "--help"],
    ["bench", "--help"],
    ["demo", "--help"],
    ["machine", "--help"],
    ["machine", "show", "--help"],
    ["model", "--help"],
    ["model", "gain", "--help"],
    ["emufs", "--help"],
    ["emufs", "mount", "--help"],
    ["emufs", "fault", "eio", "--help"],
    ["tipsy", "--help"],
    ["tipsy", "info", "--help"],
    ["tipsy", "check", "--help"],
    ["tipsy", "generate", "--help"],
    ["tipsy", "analyze", "--help"],
    ["cube", "--help"],
    ["cube", "info", "--help"],
    ["cube", "check", "--help"],
    ["cube", "generate", "--help"],
    ["cube", "diff", "--help"],
    ["ls", "--help"],
    ["verify", "--help"],
    ["repair", "--help"],
    ["diff", "--help"],
    ["export", "--help"],
    ["tune", "--help"],
    ["explain", "--help"],
    ["flow", "--help"],
    ["flow", "run", "--help"],
    ["flow", "presets", "--help"],
]
PROGRAM = """
import json, sys
from forebay.cli import main
code = main(json.loads(sys.argv[1]))
loaded = sorted(name for name in json.loads(sys.argv[2]) if name in sys.modules)
print(json.dumps({"code": code, "loaded": loaded}))
"""


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_help_imports_nothing_slow(args, environment):
    command = [sys.executable, "-c", PROGRAM, json.dumps(args), json.dumps(SLOW)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[-1]) == {"code": 0, "loaded": []}, done.stderr


def test_top_help_does_not_import_the_commands(environment):
    commands = ("doctor", "machine", "model", "dataset", "tipsy", "bench", "emufs", "demo")
    names = [f"forebay.cli.{command}" for command in commands]
    command = [sys.executable, "-c", PROGRAM, json.dumps(["--help"]), json.dumps(names)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[-1])["loaded"] == []


def test_slow_modules_are_detected(environment):
    code = PROGRAM.replace("import json, sys", "import json, sys, numpy")
    command = [sys.executable, "-c", code, json.dumps(["--help"]), json.dumps(SLOW)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[-1])["loaded"] == ["numpy"]
