# SPDX-License-Identifier: Apache-2.0
"""Synthetic machines of `forebay bench tune`: the time of a step by plan, as a formula with a few
constants. The bandwidth is a soft minimum of what writers, files and servers sustain, as fitted to
measurements of a Blue Gene/P."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from forebay.tune.space import Categorical, LogInteger, Plan, Space, powers_of_two

STRATEGIES = ("file-per-process", "baton", "collective", "reduced-blocking", "brigade")
BUFFERS = tuple(1 << power for power in range(18, 30, 2))  # 256 KiB to 256 MiB
SIDE_MAX = 1024  # aggregators, and files
CONSTANT_SIGMA = 0.4  # of the logarithm of each constant of an inexact model
GIGABYTE = 1e9


@dataclass(frozen=True)
class Constants:
    """What a model of a machine may have wrong. Rates are in GB/s."""

    writer: float  # one writer, in a file of its own
    sharing_writer: float  # one of several writers of a file
    shared_file: float
    peak: float
    contention: float  # writers that halve the peak
    cache_bytes: float  # unit that halves the rate of a server
    link: float  # into one aggregator
    create_s: float  # of one file, one after the other
    request_s: float  # latency of a request
    handoff_s: float  # of a baton, of a lock, of a hop of a chain
    message_s: float  # of one rank that its aggregator serves


@dataclass(frozen=True)
class Machine:
    name: str
    ranks: int
    gigabytes: float
    constants: Constants
    softness: float = 1.15

    def with_inexact_constants(self, random: np.random.Generator) -> "Machine":
        names = [one.name for one in fields(Constants)]
        factors = np.exp(random.normal(0, CONSTANT_SIGMA, len(names)))
        changed = {
            name: getattr(self.constants, name) * factor
            for name, factor in zip(names, factors, strict=True)
        }
        return replace(self, constants=Constants(**changed))

    def without_contention(self) -> "Machine":
        """A description that lacks two effects: contention of writers, and caches of servers."""
        return replace(
            self, constants=replace(self.constants, contention=math.inf, cache_bytes=math.inf)
        )

    def seconds(self, plan: Plan) -> float:
        """The time of a step without noise."""
        strategy, writers, files = plan["strategy"], plan["writers"], plan["files"]
        if strategy == "file-per-process":
            writers = files = self.ranks
        if strategy == "baton":  # one active writer in each file
            writers = files
        files = min(files, writers)
        write_s = self._write_s(writers, files, plan["unit"])
        transfer_s = self._transfer_s(strategy, writers, files)
        create_s = files * self.constants.create_s
        if strategy == "collective":
            return create_s + write_s + transfer_s
        # Writers that collect all of their bytes before they write overlap nothing.
        share = min(1.0, plan["unit"] * writers / (self.gigabytes * GIGABYTE))
        return create_s + max(write_s, transfer_s) + share * min(write_s, transfer_s)

    def _write_s(self, writers: int, files: int, unit: int) -> float:
        of = self.constants
        writer = of.writer if writers == files else of.sharing_writer
        peak = of.peak / (1 + writers / of.contention) / (1 + unit / of.cache_bytes)
        limits = [writers / (1 / writer + of.request_s / (unit / GIGABYTE)), peak]
        if writers > files:
            limits.append(files * of.shared_file)
        power = self.softness
        return self.gigabytes * sum(limit**-power for limit in limits) ** (1 / power)

    def _transfer_s(self, strategy: str, writers: int, files: int) -> float:
        """The time until writers have the bytes of their ranks, or the right to write."""
        of = self.constants
        if strategy == "file-per-process":
            return 0.0
        if strategy == "baton":
            return of.handoff_s * self.ranks / files
        exchange_s = self.gigabytes / (of.link * writers)
        if strategy == "collective":
            return exchange_s + of.handoff_s * writers / files
        per_rank_s = of.handoff_s if strategy == "brigade" else of.message_s
        return exchange_s + per_rank_s * self.ranks / writers


def space() -> Space:
    side = powers_of_two(1, SIDE_MAX)
    return Space(
        (
            Categorical("strategy", STRATEGIES),
            LogInteger("writers", side),
            LogInteger("files", side),
            LogInteger("unit", BUFFERS),
        ),
        (lambda plan: plan["files"] <= plan["writers"],),
    )


MACHINES = (
    Machine("bgp", 32768, 60, Constants(0.2, 0.1, 2, 40, 800, 5e7, 0.15, 0.03, 0.02, 0.03, 0.012)),
    Machine(
        "lustre", 8192, 800, Constants(0.8, 0.5, 4, 160, 1000, 1e8, 0.8, 0.04, 0.008, 0.4, 0.2)
    ),
    Machine("small", 256, 8, Constants(0.4, 0.15, 0.5, 3, 60, 1e8, 0.5, 0.015, 0.003, 0.03, 0.02)),
)
