#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an MPI program on two hosts, which are network namespaces of this machine.

Usage: two_hosts.py --library MPICH [--rate-mbyte 100] -- LAUNCHER... : PROGRAM...

Each host has its own name, address, shared memory and IPC. One link joins them, whose rate can be
limited. They share processors, files and users. A host exists as long as a process that reads from
a pipe of this one, so it ends even if this process is killed. The exit code is that of the
launcher; 77, with the reason, if hosts are unavailable (they require root and iproute2).
"""

import argparse
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77
INTERFACE = "link0"
NETWORK = "10.213.0"
MTU_BYTES = 9000
# Burst of a limited link after its processor was busy elsewhere: 10 ms of its rate.
BURST_BYTES_PER_MBYTE = 10_000
LINK_TIMEOUT_S = 10
END_TIMEOUT_S = 5
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None)
ENTER_HOST = Path(__file__).resolve().parent / "enter_host.sh"

# Runs inside a new host, until its standard input ends.
HOST_SCRIPT = """
set -e
hostname "$1"
mount -t tmpfs -o size=1g tmpfs /dev/shm
mount -t sysfs sysfs /sys
ip link set lo up
echo up
exec cat > /dev/null
"""


class HostsUnavailableError(Exception):
    """The reason why two hosts are unavailable."""


@dataclass(frozen=True)
class Host:
    """A set of namespaces and the process that holds them."""

    name: str
    address: str
    holder: subprocess.Popen

    def enter(self, *command: str) -> list[str]:
        """Returns the command line that runs `command` on this host, in the current directory."""
        namespaces = ["--net", "--uts", "--ipc", "--mount", f"--wdns={os.getcwd()}"]
        return ["nsenter", "--target", str(self.holder.pid), *namespaces, "--", *command]


def must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostsUnavailableError(f"{' '.join(command)}: {done.stderr.strip()}")


def make_host(number: int) -> Host:
    name = f"forebay-host-{number}"
    # Without --fork, so that the process started here is the one in the namespaces.
    command = ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", HOST_SCRIPT, "sh", name]
    holder = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if holder.stdout.readline() != "up\n":
        raise HostsUnavailableError(
            f"namespaces are unavailable: {holder.communicate()[1].strip()}"
        )
    return Host(name, f"{NETWORK}.{number}", holder)


def connect(hosts: list[Host], rate_mbyte: int | None) -> None:
    ends = [["netns", str(host.holder.pid)] for host in hosts]
    names = ["name", INTERFACE]
    must("ip", "link", "add", *names, *ends[0], "type", "veth", "peer", *names, *ends[1])
    for host in hosts:
        must(*host.enter("ip", "address", "add", f"{host.address}/24", "dev", INTERFACE))
        must(*host.enter("ip", "link", "set", INTERFACE, "mtu", str(MTU_BYTES), "up"))
        if rate_mbyte:
            burst = str(BURST_BYTES_PER_MBYTE * rate_mbyte)
            limit = ["rate", f"{8 * rate_mbyte}mbit", "burst", burst, "latency", "50ms"]
            must(*host.enter("tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", *limit))

    for host in hosts:
        wait_for_link(host)


def wait_for_link(host: Host) -> None:
    """Waits until the kernel reports a new link as up, which is later than its creation."""
    deadline = time.monotonic() + LINK_TIMEOUT_S
    state = host.enter("cat", f"/sys/class/net/{INTERFACE}/operstate")
    while subprocess.run(state, capture_output=True, text=True, check=False).stdout != "up\n":
        if time.monotonic() > deadline:
            raise HostsUnavailableError(f"{INTERFACE} of {host.name} is not up")
        time.sleep(0.02)


def mpich_options(hosts: list[Host], ranks_per_host: int) -> tuple[list[str], dict[str, str]]:
    options = ["-launcher", "ssh", "-launcher-exec", str(ENTER_HOST), "-iface", INTERFACE]
    options += ["-hosts", ",".join(host.address for host in hosts), "-ppn", str(ranks_per_host)]
    # By default, UCX finds one kernel and bypasses the network.
    return options, {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": INTERFACE}


def open_mpi_options(hosts: list[Host], ranks_per_host: int) -> tuple[list[str], dict[str, str]]:
    slots = ",".join(f"{host.address}:{ranks_per_host}" for host in hosts)
    options = ["--host", slots, "--map-by", f"ppr:{ranks_per_host}:node"]
    settings = {
        "plm_rsh_agent": str(ENTER_HOST),
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": INTERFACE,
        "pml": "ob1",
        "btl": "tcp,vader,self",
        "btl_tcp_if_include": INTERFACE,
    }
    for name, value in settings.items():
        options += ["--mca", name, value]
    return options, {}


def launch(arguments: argparse.Namespace, hosts: list[Host]) -> subprocess.Popen:
    split = arguments.command.index(":")
    launcher, program = arguments.command[:split], arguments.command[split + 1 :]
    options_of = open_mpi_options if arguments.library == "Open MPI" else mpich_options
    options, environment = options_of(hosts, arguments.ranks_per_host)
    environment["FOREBAY_HOSTS"] = " ".join(f"{one.address}={one.holder.pid}" for one in hosts)
    environment["FOREBAY_HOSTS_RATE_MBYTE"] = str(arguments.rate_mbyte or 0)
    ranks = ["-n", str(arguments.ranks_per_host * len(hosts))]
    command = hosts[0].enter(*launcher, *options, *ranks, *program)
    return subprocess.Popen(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        preexec_fn=end_with_parent,
    )


def processes_on(hosts: list[Host]) -> list[int]:
    """Returns all processes in the namespaces of the hosts, without the holders."""
    networks = set()
    for host in hosts:
        with contextlib.suppress(OSError):  # the network ends with its holder
            networks.add(os.readlink(f"/proc/{host.holder.pid}/ns/net"))
    namespace_pids = {host.holder.pid for host in hosts}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = os.readlink(folder / "ns" / "net") in networks
        except OSError:  # it has ended meanwhile
            continue
        if is_ours and int(folder.name) not in namespace_pids:
            found.append(int(folder.name))
    return found


def end_processes(hosts: list[Host]) -> None:
    """Sends SIGTERM to all processes of the hosts, then SIGKILL to those that remain."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        for pid in processes_on(hosts):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, ending)
        deadline = time.monotonic() + END_TIMEOUT_S
        while processes_on(hosts) and time.monotonic() < deadline:
            time.sleep(0.02)


def end_hosts(hosts: list[Host]) -> None:
    running = [host for host in hosts if host.holder.poll() is None]
    end_processes(running)
    for host in hosts:
        host.holder.stdin.close()
        host.holder.wait()


def become_subreaper() -> None:
    """Makes orphans of launchers children of this process, which can wait for their end."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Sends SIGTERM to a new launcher, which then ends its ranks, if this process is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def reap_orphans() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0] > 0:
            pass


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run an MPI program on two hosts.")
    parser.add_argument("--library", required=True, choices=["MPICH", "Open MPI"])
    parser.add_argument("--ranks-per-host", type=int, default=1)
    parser.add_argument("--rate-mbyte", type=int, help="limit of the link in 10^6 bytes a second")
    parser.add_argument("command", nargs="+", metavar="LAUNCHER... : PROGRAM...")
    arguments = parser.parse_args()
    if ":" not in arguments.command:
        parser.error("no ':'; write one between the launcher and the program")
    return arguments


def check_rights() -> None:
    if os.geteuid() != 0:
        raise HostsUnavailableError("network namespaces require root")
    for program, package in [("ip", "iproute2"), ("tc", "iproute2"), ("nsenter", "util-linux")]:
        if shutil.which(program) is None:
            raise HostsUnavailableError(f"{program} is missing (package {package})")


def main() -> int:
    arguments = parse()
    become_subreaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    hosts: list[Host] = []
    launcher = None
    try:
        check_rights()
        for number in (1, 2):
            hosts.append(make_host(number))
        connect(hosts, arguments.rate_mbyte)
        launcher = launch(arguments, hosts)
        return launcher.wait()
    except HostsUnavailableError as reason:
        print(f"skipped: two hosts are unavailable: {reason}", flush=True)
        return SKIPPED
    finally:
        end_hosts(hosts)
        if launcher is not None:
            launcher.wait()
        reap_orphans()


if __name__ == "__main__":
    sys.exit(main())
