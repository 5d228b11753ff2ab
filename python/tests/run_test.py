# SPDX-License-Identifier: Apache-2.0
"""`forebay run`: exit codes, signals, switches, profiles and reports."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forebay import native, run_job

FOREBAY = [
    sys.executable,
    "-c",
    "import sys; from forebay.cli import main; sys.exit(main())",
]
READS = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
print(sum(os.pread(file, 1024, i * 65536)[0] for i in range(100)))
"""


WAITS = "for i in $(seq 600); do sleep 0.05; done"
# Variables that `forebay run` sets.
OWN_VARIABLES = re.compile("^(LD_PRELOAD|FOREBAY_RUN_MEMORY|ASAN_OPTIONS)=.*\n", re.MULTILINE)
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 65536)
    return path


@pytest.fixture
def run(tmp_path):
    """run(*words) runs `forebay run` with these words, and returns the completed process."""

    def start(*words, env=None, **options):
        variables = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")} | (env or {})
        return subprocess.run(
            [*FOREBAY, "run", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=variables,
            **options,
        )

    return start


def test_output_and_exit_code_are_those_of_the_program(run):
    done = run("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert run("--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_missing_program_is_an_error_as_in_a_shell(run):
    done = run("--", "no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in done.stderr
    assert run("--", "/").returncode == 126


def test_script_without_an_interpreter_is_run_by_the_shell(run, tmp_path):
    script = tmp_path / "script"
    script.write_text('echo "$0" "$@"; exit 4')
    script.chmod(0o755)
    done = run("--", "./script", "a b", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "./script a b\n")


def test_report_and_profile_have_the_reads(run, data, tmp_path):
    words = ["--json", "-", "--", sys.executable, "-c", READS, str(data)]
    done = run(*words)
    assert done.returncode == 0
    first, _, rest = done.stdout.partition("\n")
    assert first == str(sum(range(0, 1)))
    report = json.loads(rest)
    of_data = next(one for one in report["files"] if one["path"] == str(data))
    assert of_data["reads"] == 100
    profiles = list((tmp_path / "cache/forebay").glob("*.hints"))
    assert len(profiles) == 1
    assert "read {100 x (65536 i, 1024)}" in profiles[0].read_text()


def test_options_of_the_program_are_not_those_of_forebay(run):
    assert run("--", "echo", "--json", "--report").stdout == "--json --report\n"


def test_no_profile_leaves_none(run, data, tmp_path):
    run("--no-profile", "--", sys.executable, "-c", READS, str(data))
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def compare(run):
    """compare(*words) runs a program with and without `forebay run`; both must end alike."""

    def start(*words, **options):
        plain = subprocess.run(
            words, capture_output=True, text=True, timeout=60, check=False, **options
        )
        recorded = run("--", *words, **options)
        results = [(one.returncode, one.stdout, one.stderr) for one in (plain, recorded)]
        assert results[1] == results[0]
        return plain

    return start


@pytest.fixture
def namespace():
    """The command that starts a program in namespaces of its own, if they are permitted."""
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], check=False).returncode:
        pytest.skip("namespaces cannot be created here")
    return NAMESPACE


@pytest.mark.parametrize("kind", ["file", "mount"])
def test_read_only_home_changes_nothing(data, tmp_path, namespace, kind):
    home, env = tmp_path / "home", {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    words = [*FOREBAY, "run", "--", sys.executable, "-c", READS, str(data)]
    if kind == "file":
        home.write_text("no directory")
    else:
        home.mkdir()
        cover = 'mount -t tmpfs -o ro none "$HOME" && exec "$@"'
        words = [*namespace, "sh", "-c", cover, "sh", *words]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=env | {"HOME": str(home)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_user_without_a_home_has_no_profiles(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", fail)
    assert run_job.default_profiles() is None


def test_switched_off_nothing_is_preloaded(run):
    shows = ["--", "sh", "-c", "echo ${LD_PRELOAD:-none}"]
    assert run(*shows, env={"FOREBAY_RUN": "off"}).stdout == "none\n"
    assert "libforebay_run.so" in run(*shows).stdout


def test_other_preloaded_libraries_stay(run):
    other = next(Path("/").glob("lib*/*/libm.so.6"), None) or next(
        Path("/").glob("usr/lib/*/libm.so.6")
    )
    done = run("--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": str(other)})
    assert done.stdout.rstrip().endswith(f"libforebay_run.so:{other}")


def test_ranks_of_a_job_share_an_agent(run, data, tmp_path):
    env = os.environ | {"SLURM_JOB_ID": f"test-{os.getpid()}"}
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    words = [*FOREBAY, "run", "--json", "-", "--", "sh", "-c", "echo $FOREBAY_RUN_MEMORY; sleep 1"]
    ranks = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert len({output.partition("\n")[0] for output in outputs}) == 1
    assert sum('"files"' in output for output in outputs) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program(tmp_path, number):
    ready = tmp_path / "ready"
    script = f"trap 'exit 9' TERM INT USR1; touch {ready}; {WAITS}"
    process = start_with_default_signals([*FOREBAY, "run", "--", "sh", "-c", script])
    wait_for(ready)
    process.send_signal(number)
    assert process.wait(timeout=30) == 9


def start_with_default_signals(words: list[str]) -> subprocess.Popen:
    """Starts a program as a terminal does, also if the tests run in the background of a shell."""
    words = ["env", "--default-signal", *words]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_signal_at_any_moment_of_the_start_ends_the_program():
    processes = []
    for i in range(24):
        script = f"trap 'exit 9' TERM; {WAITS}"
        processes.append(start_with_default_signals([*FOREBAY, "run", "--", "sh", "-c", script]))
        time.sleep(i * 0.01)
        processes[-1].terminate()
    # The launcher, before it starts the program; the program before its trap; the trap.
    codes = {process.wait(timeout=60) for process in processes}
    assert codes <= {-signal.SIGTERM, 128 + signal.SIGTERM, 9}


def test_signal_of_the_terminal_reaches_the_program_once():
    script = """
import signal, time
received = []
signal.signal(signal.SIGINT, lambda *_: received.append(1))
print("ready", flush=True)
end = time.monotonic() + 30
while not received and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
print(len(received), "received", flush=True)
"""
    ours, theirs = pty.openpty()
    words = ["setsid", "--ctty", *FOREBAY, "run", "--", sys.executable, "-c", script]
    process = subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    os.write(ours, b"\x03")
    assert process.communicate(timeout=60)[0] == "1 received\n"
    assert process.returncode == 0
    os.close(ours)
    os.close(theirs)


def test_killed_launcher_leaves_the_program(tmp_path):
    script = f"echo > {tmp_path}/ready; read line; echo $line > {tmp_path}/line; : > {tmp_path}/end"
    words = [*FOREBAY, "run", "--", "sh", "-c", script]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
    wait_for(tmp_path / "ready")
    process.kill()
    process.communicate("text\n", timeout=30)
    wait_for(tmp_path / "end")
    assert (tmp_path / "line").read_text() == "text\n"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_inner_run_has_its_own_agent(run, data, tmp_path):
    inner = [*FOREBAY, "run", "--json", str(tmp_path / "inner"), "--", sys.executable, "-c"]
    script = READS + "print(os.environ['LD_PRELOAD'].count('_run.so'), os.environ['ASAN_OPTIONS'])"
    done = run("--json", str(tmp_path / "outer"), "--", *inner, script, str(data))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0\n1 verify_asan_link_order=0\n")
    reads = [
        sum(
            one["reads"]
            for one in json.loads((tmp_path / name).read_text())["files"]
            if one["path"] == str(data)
        )
        for name in ("inner", "outer")
    ]
    assert reads == [100, 0]


def test_launchers_with_other_options_have_their_own_agent(tmp_path):
    env = os.environ | {"SLURM_JOB_ID": f"test-{os.getpid()}"}
    shows = ["--", "sh", "-c", "echo $FOREBAY_RUN_MEMORY; sleep 1"]
    options = [["--no-profile"], ["--profiles", tmp_path / "a"], ["--profiles", tmp_path / "b"]]
    processes = [
        subprocess.Popen([*FOREBAY, "run", *one, *shows], env=env, stdout=subprocess.PIPE)
        for one in options
    ]
    assert len({process.communicate(timeout=60)[0] for process in processes}) == len(options)


def test_64_launchers_of_a_job_start_at_once(data, tmp_path):
    env = os.environ | {"PMIX_NAMESPACE": f"test-{os.getpid()}", "XDG_CACHE_HOME": str(tmp_path)}
    words = ["nice", *FOREBAY, "run", "--json", "-", "--", "sh", "-c", f"cat {data} >/dev/null"]
    ranks = [
        subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(64)
    ]
    outputs = [rank.communicate(timeout=100) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * len(ranks)
    errors = {error for _, error in outputs}
    if any("no agent started" in error for error in errors):
        return  # a busy machine: all programs ran
    assert errors == {""}
    # An agent ends with its last launcher, and late launchers may start another one.
    reports = [json.loads(output) for output, _ in outputs if output]
    assert 1 <= len(reports) < len(ranks)
    reads = [one["reads"] for report in reports for one in report["files"]]
    assert sum(reads) >= 64 * data.stat().st_size / (1 << 20)


def test_inherited_descriptors_reach_the_program(run, data):
    with data.open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        script = f"import os; print(*os.read({file.fileno()}, 4))"
        done = run("--", sys.executable, "-c", script, pass_fds=[file.fileno()])
    assert done.stdout.split() == ["0", "1", "2", "3"]


def test_agent_that_does_not_start_leaves_the_program(run, tmp_path):
    for name in ("forebay-run-agent", "libforebay_run.so"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho >> {tmp_path}/starts\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    done = run("--", "echo", "out", env={"FOREBAY_LIBEXEC": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "no agent started" in done.stderr
    assert 1 <= len((tmp_path / "starts").read_text().splitlines()) <= run_job.STARTS_MAX
    (tmp_path / "forebay-run-agent").write_text("no program")
    done = run("--", "echo", "out", env={"FOREBAY_LIBEXEC": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "no agent started: Exec format error" in done.stderr


@pytest.mark.parametrize("separator", " :")
def test_prefix_that_ld_preload_cannot_name_is_reported(run, tmp_path, separator):
    folder = tmp_path / f"a{separator}b"
    folder.symlink_to(native.find_program(run_job.LIBRARY).parent)
    done = run("--", "sh", "-c", "echo out; exit 3", env={"FOREBAY_LIBEXEC": str(folder)})
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert "cannot be preloaded" in done.stderr


def test_relative_prefix_is_usable(run, data, tmp_path):
    folder = native.find_program(run_job.LIBRARY).parent
    words = ["--json", "-", "--", "sh", "-c", f"cd /; {sys.executable} -c '{READS}' {data}"]
    done = run(*words, env={"FOREBAY_LIBEXEC": os.path.relpath(folder, tmp_path)}, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f'"{data}"' in done.stdout


def test_environment_is_that_of_the_launcher():
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "A": "b\nc"}
    env |= {k: v for k, v in os.environ.items() if k == "FOREBAY_LIBEXEC"}
    for more in ({}, {"LC_CTYPE": "C"}, {"LC_ALL": "C"}, {"FOREBAY_RUN": "off"}):
        words = ["env", "-i", *(f"{name}={value}" for name, value in (env | more).items())]
        plain = subprocess.run([*words, "env"], capture_output=True, check=True)
        recorded = subprocess.run([*words, *FOREBAY, "run", "env"], capture_output=True, check=True)
        assert OWN_VARIABLES.sub("", recorded.stdout.decode()) == plain.stdout.decode()


def test_arguments_and_input_reach_the_program(compare):
    words = ["sh", "-c", 'printf "%s|" "$@"; cat', "--", "", "--", "a b", "\\n", "--json", "-h"]
    assert compare(*words, input="text").stdout.endswith("text")


def test_ignored_and_blocked_signals_stay_so():
    # Python ignores SIGPIPE and SIGXFSZ itself, and restores their default actions.
    block = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
os.execvp("sh", sys.argv[1:])
"""
    shows = ["grep", "-E", "^Sig(Ign|Blk|Cgt)", "/proc/self/status"]
    for ignored in ("HUP", "INT QUIT", "CHLD TERM USR1"):
        ignore = ["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh"]
        start = [sys.executable, "-c", block, *ignore]
        plain = subprocess.check_output([*start, *shows])
        assert subprocess.check_output([*start, *FOREBAY, "run", "--", *shows]) == plain


def test_closed_standard_streams_stay_closed(tmp_path):
    shows = f"ls /proc/self/fd >{tmp_path}/plain; exit 5"
    for words, file in (([], "plain"), ([*FOREBAY, "run", "--"], "recorded")):
        program = ["sh", "-c", shows.replace("plain", file)]
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words, *program]
        assert subprocess.run(closed, check=False).returncode == 5
    assert (tmp_path / "plain").read_text() == (tmp_path / "recorded").read_text()


def test_job_without_a_greeting_does_not_delay_without_limit(monkeypatch):
    monkeypatch.setattr(run_job, "GREETING_TIMEOUT_S", 0.2)
    name = f"forebay-run-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind("\0" + name)
        silent.listen()
        assert run_job.connect(name) is None


ARRAYS = """
import sys
import numpy as np
from pathlib import Path
folder = Path(sys.argv[1])
values = np.arange(1 << 20, dtype=np.float64).reshape(1024, 1024)
np.save(folder / "values.npy", values)
print(np.load(folder / "values.npy").sum())
print(np.load(folder / "values.npy", mmap_mode="r")[::7, ::3].sum())
print(np.fromfile(folder / "values.npy", offset=128)[5::11].sum())
try:
    import h5py
except ImportError:
    sys.exit()
with h5py.File(folder / "values.h5", "w") as file:
    file.create_dataset("values", data=values, chunks=(64, 64), compression=1)
with h5py.File(folder / "values.h5", "r+") as file:
    print(file["values"][::5, 100:200].sum())
    file["values"][0] = 1
    print(file["values"][:10].sum())
"""


def test_extension_modules_read_the_same(compare, tmp_path):
    assert compare(sys.executable, "-c", ARRAYS, str(tmp_path)).returncode == 0


def compiled(folder: Path, source: str, *options: str) -> Path:
    """A program or library of C, or a skip of the test without a compiler that has the options."""
    (folder / "source.c").write_text(source)
    words = ["cc", "-o", str(folder / "compiled"), str(folder / "source.c"), *options]
    if not shutil.which("cc") or subprocess.run(words, check=False).returncode:
        pytest.skip(f"no compiler with {' '.join(options)}")
    return folder / "compiled"


def test_extension_with_address_sanitizer_loads(compare, tmp_path):
    source = "int get(int i) { static int values[4]; values[i & 3] = i; return values[i & 3]; }"
    extension = compiled(tmp_path, source, "-shared", "-fPIC", "-fsanitize=address")
    runtime = subprocess.check_output(["cc", "-print-file-name=libasan.so"], text=True).strip()
    env = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"}
    script = f"import ctypes; print(ctypes.CDLL('{extension}').get(3))"
    words = ["env", *(f"{name}={value}" for name, value in env.items())]
    plain = subprocess.run([*words, sys.executable, "-c", script], capture_output=True, check=True)
    start = [*FOREBAY, "run", "--", sys.executable, "-c", script]
    recorded = subprocess.run([*words, *start], capture_output=True, check=True)
    assert recorded.stdout == plain.stdout


def test_program_of_go_is_unchanged(compare, tmp_path, data):
    if not shutil.which("go"):
        pytest.skip("no compiler of Go")
    (tmp_path / "main.go").write_text(
        """package main
import ("os"; "syscall")
func main() {
	file, _ := syscall.Open(os.Args[1], syscall.O_RDONLY, 0)
	buffer := make([]byte, 100000)
	size, _ := syscall.Pread(file, buffer, 5)
	println(size, buffer[1000])
}
"""
    )
    build = ["go", "build", "-o", str(tmp_path / "program"), str(tmp_path / "main.go")]
    subprocess.run(build, check=True, timeout=200)
    assert compare(str(tmp_path / "program"), str(data)).stderr == "100000 237\n"


def test_program_with_rights_of_another_user_is_unchanged(compare, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a program another user")
    program = tmp_path / "env"
    shutil.copy(shutil.which("env"), program)
    os.chown(program, 65534, -1)
    program.chmod(0o4755)
    added = ("FOREBAY_RUN_MEMORY", "ASAN_OPTIONS", "XDG_CACHE_HOME")
    of_readline = ("LINES", "COLUMNS")  # which os.environ does not have
    hidden = [f"--unset={name}" for name in (*added, *of_readline)]
    assert "LD_PRELOAD" not in compare(str(program), *hidden).stdout


@pytest.mark.parametrize("limit", ["-v 300000", "-f 100", "-n 30", "-s 200"])
def test_limits_of_resources_leave_the_program(run, data, limit):
    words = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *FOREBAY, "run", "--"]
    done = subprocess.run(
        [*words, "sh", "-c", 'cat "$0" >/dev/null', str(data)], check=False, timeout=60
    )
    assert done.returncode == 0


def test_namespace_of_processes_changes_nothing(compare, data, namespace):
    compare(*namespace, "--pid", "--fork", "--mount-proc", "sha1sum", str(data))


def test_stopped_agent_delays_the_end_by_a_limit(run):
    stop = "agent=$(echo $FOREBAY_RUN_MEMORY | cut -d/ -f3); kill -STOP $agent; echo $agent; exit 6"
    done = run("--", "sh", "-c", stop)
    os.kill(int(done.stdout), signal.SIGKILL)
    assert (done.returncode, done.stderr) == (6, "")


def test_killed_program_leaves_a_report(run, data, tmp_path):
    script = READS + "os.kill(os.getpid(), 9)"
    words = ["--json", str(tmp_path / "report"), "--", sys.executable, "-c", script, str(data)]
    assert run(*words).returncode == 128 + signal.SIGKILL
    report = json.loads((tmp_path / "report").read_text())
    assert [one["reads"] for one in report["files"] if one["path"] == str(data)] == [100]


def test_name_that_is_not_utf_8_leaves_a_report(run, data, tmp_path):
    other = data.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    words = ["--json", str(tmp_path / "report"), "--", sys.executable, "-c", READS, str(other)]
    assert run(*words).returncode == 0
    report = json.loads((tmp_path / "report").read_text())
    assert 100 in [one["reads"] for one in report["files"]]


def report_of(run, data, script: str) -> dict:
    """The report of a program of Python that has the path of `data` as its argument."""
    words = ["--no-profile", "--json", "-", "--", sys.executable, "-S", "-E", "-c", script]
    done = run(*words, str(data))
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_child_of_raw_fork_is_a_process_of_its_own(run, data):
    script = """
import ctypes, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.pread(file, 10, 0)
clone, sigchld = 56, 17
child = ctypes.CDLL(None).syscall(clone, sigchld, 0, 0, 0, 0)
os.pread(file, 10, 0)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    assert report_of(run, data, script)["processes"] == 2


def test_chain_of_programs_does_not_use_up_rings(run, tmp_path):
    chain = tmp_path / "chain"
    chain.write_text('[ "$1" = 0 ] || exec sh "$0" $(($1 - 1))')
    report = json.loads(run("--no-profile", "--json", "-", "--", "sh", str(chain), "600").stdout)
    assert report["unrecorded_threads"] == 0


def test_descriptor_that_libc_closes_is_no_longer_the_file(run, data):
    script = """
import ctypes, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.read(file, 100)
ctypes.CDLL(None).closefrom(file)
ours, theirs = os.pipe()
assert ours == file
os.write(theirs, bytes(100))
os.read(ours, 100)
"""
    report = report_of(run, data, script)
    assert [one["reads"] for one in report["files"] if one["path"] == str(data)] == [1]
