# SPDX-License-Identifier: Apache-2.0
"""The shells complete command lines of `forebay`, from the files of the installed prefix."""

import shlex
import shutil

import pytest

BASH = """
source {file}
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_forebay {forebay}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# Outside of an interactive line, functions stand in for what zsh's completion system defines.
ZSH = """
_describe() {{ for one in "${{(@P)${{@[-1]}}}}"; do print -r -- "${{one%%:*}}"; done; }}
compadd() {{ print -rl -- "${{(@P)${{@[-1]}}}}"; }}
_path_files() {{ print -r -- path; }}
_files() {{ print -r -- path; }}
words=({words})
CURRENT=$#words
function complete_forebay() {{ source {file}; }}
complete_forebay
"""
FISH = "source {file}; complete --do-complete {line}"
FILES = {
    "bash": "share/bash-completion/completions/forebay",
    "zsh": "share/zsh/site-functions/_forebay",
    "fish": "share/fish/vendor_completions.d/forebay.fish",
}
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@pytest.fixture(params=FILES)
def complete(request, run, prefix):
    """complete(*words) returns what the shell proposes for the last word of a command line."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"shell is not installed: run apt-get install {shell}")

    def complete_words(*words):
        forebay = prefix / "bin" / "forebay"
        script = SCRIPTS[shell].format(
            file=prefix / FILES[shell],
            forebay=forebay,
            words=shlex.join([str(forebay), *words]),
            line=shlex.quote(" ".join(["forebay", *words])),
        )
        environment = {"PATH": f"{forebay.parent}:{run('printenv', 'PATH').strip()}"}
        printed = run(shell, "-c", script, environment=environment)
        return sorted(line.split("\t")[0] for line in printed.splitlines())

    return complete_words


def test_beginning_of_command_proposes_the_commands(complete):
    assert complete("ex") == ["explain", "export"]


def test_beginning_of_subcommand_proposes_subcommands(complete):
    assert complete("machine", "l") == ["list"]


def test_beginning_of_option_proposes_options(complete):
    assert complete("--ver") == ["--version"]


def test_unknown_command_proposes_nothing(complete):
    assert [one for one in complete("no-such-command", "x") if one] == []
