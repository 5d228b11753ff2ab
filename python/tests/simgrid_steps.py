# SPDX-License-Identifier: Apache-2.0
"""The writers of a step as actors of SimGrid, which shares links and servers max-min fairly.

Reads a step as JSON and prints the seconds until its last byte is written. Runs under the system's
Python, which has Debian's module simgrid. simgrid_test.py compares the result with a modeled one.
"""

import json
import sys
from collections import Counter

from simgrid import Actor, Comm, Engine, Host, LinkInRoute, NetZone, Semaphore, this_actor

REQUESTS_OF_WRITER = 16
UNLIMITED_MB_PER_S = 1e9
# Links share their whole bandwidth, whatever their latency.
MODEL = ["network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0"]


def add_hosts(zone: NetZone, kind: str, count: int, mb_per_s: float, latency_us: float) -> None:
    """Hosts with a link each. 0 MB/s: unlimited."""
    for number in range(count):
        host = zone.create_host(f"{kind}{number}", 1)
        link = zone.create_link(f"{kind}{number}", (mb_per_s or UNLIMITED_MB_PER_S) * 1e6)
        link.set_latency(latency_us / 1e6)
        link.seal()
        zone.add_route(host.netpoint, None, None, None, [LinkInRoute(link)], True)


class File:
    """Its space is allocated in the order of requests, and begins on the server `number`."""

    def __init__(self, number: int):
        self.number = number
        self.end = 0
        self.is_created = Semaphore(0)


class Step:
    def __init__(self, step: dict):
        self.machine, self.plan = step["machine"], step["plan"]
        self.files = [File(number) for number in range(self.plan["files"])]
        names, layout = self.machine["metadata"], self.machine["layout"]
        self.metadata = [Semaphore(names["concurrency"]) for _ in range(names["servers"])]
        self.servers = self.machine["servers"][0]["count"]
        self.stripe, self.columns = layout["stripe_bytes"], layout["stripe_count"] or self.servers
        stripes_of_request = max(1, self.plan["unit_bytes"] // self.stripe)
        self.pending_max = REQUESTS_OF_WRITER * min(stripes_of_request, self.columns)
        self.written_s = 0.0

    def allocate(self, file: File, size: int) -> Counter:
        """Bytes of the next request, by server."""
        found: Counter = Counter()
        at, end = file.end, file.end + size
        file.end += -(-size // self.plan["alignment_bytes"]) * self.plan["alignment_bytes"]
        while at < end:
            length = min(self.stripe - at % self.stripe, end - at)
            found[(file.number + at // self.stripe % self.columns) % self.servers] += length
            at += length
        return found

    def open(self, file: File, is_owner: bool) -> None:
        """The owner creates the file; then the others open it."""
        if not is_owner:
            file.is_created.acquire()
            file.is_created.release()
        server = self.metadata[file.number % len(self.metadata)]
        server.acquire()
        this_actor.sleep_for(self.machine["metadata"]["create_us" if is_owner else "open_us"] / 1e6)
        server.release()
        if is_owner:
            file.is_created.release()

    def write(self, writer: dict) -> None:
        file, left = self.files[writer["file"]], writer["bytes"]
        self.open(file, writer["is_owner"])
        host = Host.by_name(f"node{writer['node']}")
        pending: list[Comm] = []
        while left > 0 or pending:
            if left > 0 and len(pending) < self.pending_max:
                size = min(left, self.plan["unit_bytes"])
                left -= size
                for server, length in self.allocate(file, size).items():
                    target = Host.by_name(f"server{server}")
                    pending.append(Comm.sendto_async(host, target, length))
            else:
                pending.pop(Comm.wait_any(pending))
        self.written_s = max(self.written_s, Engine.clock)


def simulate(document: dict) -> float:
    engine = Engine([sys.argv[0], *(f"--cfg={one}" for one in MODEL), "--log=root.thres:error"])
    client, group = document["machine"]["client"], document["machine"]["servers"][0]
    zone = NetZone.create_star_zone("machine")
    add_hosts(zone, "node", document["nodes"], client["link_bandwidth_mb_per_s"], 0)
    server_mb_per_s, latency_us = group["write_bandwidth_mb_per_s"], group["write_latency_us"]
    add_hosts(zone, "server", group["count"], server_mb_per_s, latency_us)
    zone.seal()
    step = Step(document)
    for number, writer in enumerate(document["writers"]):
        Actor.create(f"writer{number}", Host.by_name(f"node{writer['node']}"), step.write, writer)
    engine.run()
    return step.written_s


if __name__ == "__main__":
    print(simulate(json.load(sys.stdin)))
