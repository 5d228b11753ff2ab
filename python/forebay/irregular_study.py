# SPDX-License-Identifier: Apache-2.0
"""The study of irregular output (Herbein et al., CSE'13, slides), repeated by simulation with
kernels: three distributions of sizes, two sizes, numbers of aggregators and of storage targets,
gather and brigade, files created in the step or ahead.

measure() simulates; the rest are pure functions of its document. docs/guides/study.md
describes each statement.
"""

from dataclasses import dataclass
from itertools import product
from statistics import median

from forebay import native
from forebay.kernel.kernel_file import Kernel, sized_kernel

MACHINES = ("lustre-small", "gpfs-small", "pvfs-small")
TARGETS = (1, 2, 4)
STEPS = 15
QUICK_STEPS = 5
SMALL, LARGE = 2.4e6, 24e6  # bytes of a writer, on average
SIZES = {"small": SMALL, "large": LARGE}
FAMILIES = ("uniform", "normal", "exponential")
REGULAR, IRREGULAR = "uniform", "exponential"
STRATEGIES = ("gather", "brigade")
# The slides: 29 % overhead at 16 GB/s. The computation follows with 4096 writers of 24 MB.
OVERHEAD, BANDWIDTH = 0.29, 16e9
WRITERS, WRITERS_OF_NODE = 4096, 2
MACHINE = "titan"
SIMILAR = 1.15  # times within this factor
CLEAR = 1.10


@dataclass(frozen=True)
class Point:
    """One simulated setting: the median over the steps."""

    machine: str
    size: str
    family: str
    strategy: str
    aggregators: int
    targets: int
    is_ahead: bool
    opened_s: float
    durable_s: float
    memory_bytes: int
    peer_memory_bytes: int

    @property
    def setting(self) -> tuple[str, int, int]:
        return self.strategy, self.aggregators, self.targets


def kernel_of(family: str, mean: float, ranks: int, steps: int) -> Kernel:
    parameters = {
        "uniform": {"low": 0.9 * mean, "high": 1.1 * mean},
        "normal": {"mean": mean, "deviation": mean / 4},
        "exponential": {"mean": mean},
    }[family]
    return sized_kernel({"family": family} | parameters, ranks, steps, name=family)


def measure(ranks: int, is_quick: bool, on_progress=None) -> dict:
    """{"ranks","steps","points":[...]}. Blocks for a few minutes."""
    steps = QUICK_STEPS if is_quick else STEPS
    points = []
    combinations = list(product(MACHINES, SIZES, FAMILIES, (False, True)))
    for number, (machine, size, family, is_ahead) in enumerate(combinations):
        if on_progress is not None:
            what = f"{family}, {size} on {machine}"
            on_progress(native.Progress(number, len(combinations), "simulations", what))
        kernel = kernel_of(family, SIZES[size], ranks, steps)
        document = native.tools().study_steps(
            kernel.plan(ranks), machine, targets=TARGETS, create_ahead=is_ahead
        )
        points += [point_of(machine, size, family, cell) for cell in document["cells"]]
    return {"ranks": ranks, "steps": steps, "points": points, "titan": read_titan()}


def read_titan() -> dict:
    """{"bandwidth","nodes"} of its machine file."""
    summary = native.tools().show_machine(MACHINE)["summary"]
    return {"bandwidth": summary["write_mb_per_s"] * 1e6, "nodes": summary["clients"]}


def point_of(machine: str, size: str, family: str, cell: dict) -> dict:
    keys = ("strategy", "aggregators", "targets", "memory_bytes", "peer_memory_bytes")
    return {
        "machine": machine,
        "size": size,
        "family": family,
        **{key: cell[key] for key in keys},
        "is_ahead": cell["create_ahead"],
        "opened_s": median(cell["opened_s"]),
        "durable_s": median(cell["durable_s"]),
    }


def points_of(document: dict) -> list[Point]:
    return [Point(**one) for one in document["points"]]


def select(points: list[Point], **wanted) -> list[Point]:
    return [p for p in points if all(getattr(p, key) == value for key, value in wanted.items())]


def statement(text: str, number: str, is_confirmed: bool, why: str) -> dict:
    verdict = "confirmed" if is_confirmed else "refuted"
    return {"statement": text, "answer": number, "verdict": verdict, "why": why}


def statements(document: dict) -> list[dict]:
    """The eight statements of the slides, each with a number."""
    points = points_of(document)
    in_step = select(points, is_ahead=False)
    return [
        opening(points),
        aggregation_time(in_step),
        aggregation_memory(in_step),
        irregular(in_step),
        aggregators_and_targets(in_step),
        carry_over(in_step),
        peak(document["titan"]),
        full_scale(document["titan"]),
    ]


def opening(points: list[Point]) -> dict:
    """The largest share of the step that the open phase has, without and with creation ahead."""
    shares = {
        ahead: max(p.opened_s / p.durable_s for p in select(points, is_ahead=ahead))
        for ahead in (False, True)
    }
    return statement(
        "Threading is better because it eliminates the cost of the open phase",
        f"open phase: up to {shares[False]:.0%} of a step, {shares[True]:.0%} with files ahead",
        shares[True] == 0 < shares[False],
        "most with small steps and a file for each rank",
    )


def pairs_of_strategies(points: list[Point]) -> list[tuple[Point, Point]]:
    brigade = {
        (p.machine, p.size, p.family, p.setting[1:]): p for p in select(points, strategy="brigade")
    }
    return [
        (p, brigade[p.machine, p.size, p.family, p.setting[1:]])
        for p in select(points, strategy="gather")
    ]


def aggregation_time(points: list[Point]) -> dict:
    ratios = [
        gather.durable_s / brigade.durable_s for gather, brigade in pairs_of_strategies(points)
    ]
    low, high = min(ratios), max(ratios)
    return statement(
        "All-gather and brigade perform similarly",
        f"gather / brigade: median {median(ratios):.2f}, {low:.2f} to {high:.2f}",
        max(median(ratios), 1 / median(ratios)) <= SIMILAR,
        "the exchange is short beside the writing, so overlapping both gains little",
    )


def aggregation_memory(points: list[Point]) -> dict:
    """At one aggregator for all ranks, where they differ most."""
    pairs = [pair for pair in pairs_of_strategies(points) if pair[0].aggregators == 1]
    peers = [g.peer_memory_bytes / b.peer_memory_bytes for g, b in pairs]
    ours = [g.memory_bytes / b.memory_bytes for g, b in pairs]
    return statement(
        "Brigade has a smaller memory footprint",
        f"gather / brigade: {median(peers):.1f} in ADIOS 1.13, {median(ours):.1f} in Forebay",
        median(peers) > CLEAR,
        "Forebay bounds both by its plan, so there is no difference left",
    )


def best(points: list[Point]) -> Point:
    return min(points, key=lambda p: p.durable_s)


def slowdown(points: list[Point], machine: str, size: str) -> float:
    """Time of exponential sizes / time of uniform ones, each with its best setting."""
    times = {
        family: best(select(points, machine=machine, size=size, family=family)).durable_s
        for family in (REGULAR, IRREGULAR)
    }
    return times[IRREGULAR] / times[REGULAR]


def irregular(points: list[Point]) -> dict:
    ratios = {size: max(slowdown(points, m, size) for m in MACHINES) for size in SIZES}
    return statement(
        "Irregular output at large sizes is different",
        f"exponential / uniform, best setting: {ratios['small']:.2f} with small steps, "
        f"{ratios['large']:.2f} with large ones",
        ratios["large"] > CLEAR * ratios["small"],
        "irregular steps take longer at both sizes: the largest block ends last, and it is the "
        "same share of a small step as of a large one",
    )


def effect(points: list[Point], by: str) -> float:
    """Slowest / fastest over the values of one parameter, the others at their best."""
    values = sorted({getattr(p, by) for p in points})
    times = [best(select(points, **{by: value})).durable_s for value in values]
    return max(times) / min(times)


def aggregators_and_targets(points: list[Point]) -> dict:
    effects = {"aggregators": [], "targets": []}
    for machine, size, family in product(MACHINES, SIZES, FAMILIES):
        chosen = select(points, machine=machine, size=size, family=family)
        for by, found in effects.items():
            found.append(effect(chosen, by))
    aggregators, targets = (max(found) for found in effects.values())
    return statement(
        "The number of aggregators has a greater impact than the number of targets",
        f"worst / best: up to {aggregators:.2f} by aggregators, {targets:.2f} by targets",
        aggregators > targets,
        "one aggregator keeps 16 requests in flight, so few saturate four servers",
    )


def losses(points: list[Point], machine: str) -> dict[str, dict[str, float]]:
    """On a machine, the loss of each pattern (family and size) with the best setting of another, in
    parts of its own best time."""
    patterns = {
        f"{family}, {size}": select(points, family=family, size=size, machine=machine)
        for family, size in product(FAMILIES, SIZES)
    }
    chosen = {name: best(found).setting for name, found in patterns.items()}
    times = {name: {p.setting: p.durable_s for p in found} for name, found in patterns.items()}
    return {
        name: {
            other: times[name][setting] / min(times[name].values()) - 1
            for other, setting in chosen.items()
        }
        for name in patterns
    }


def carry_over(points: list[Point]) -> dict:
    worst = {
        machine: max(loss for row in losses(points, machine).values() for loss in row.values())
        for machine in MACHINES
    }
    texts = [f"{loss:.0%} on {machine}" for machine, loss in worst.items()]
    return statement(
        "Optimal parameters for one pattern do not perform similarly for others",
        f"loss with the optimum of another pattern: up to {', '.join(texts)}",
        max(worst.values()) > CLEAR - 1,
        "more where blocks are large beside the steps, so that few ranks fill a server",
    )


def compute_s() -> float:
    """Computation of a step that has this overhead at this bandwidth."""
    return io_s(WRITERS, BANDWIDTH) * (1 - OVERHEAD) / OVERHEAD


def io_s(writers: float, bandwidth: float) -> float:
    return writers * LARGE / bandwidth


def overhead(writers: float, bandwidth: float) -> float:
    io = io_s(writers, bandwidth)
    return io / (io + compute_s())


def peak(titan: dict) -> dict:
    found = overhead(WRITERS, titan["bandwidth"])
    return statement(
        "The I/O overhead of 29 % at 16 GB/s would be 7.5 % at the peak of 80 GB/s",
        f"{overhead(WRITERS, BANDWIDTH):.0%} and {found:.1%}",
        abs(found - 0.075) < 0.005,
        "overhead = V / B over computation + V / B, with the same computation",
    )


def full_scale(titan: dict) -> dict:
    writers = WRITERS_OF_NODE * titan["nodes"]
    reached, best_case = overhead(writers, BANDWIDTH), overhead(writers, titan["bandwidth"])
    return statement(
        "At full scale the overhead is projected to be 50 % or higher",
        f"{reached:.0%} at 16 GB/s with {writers} writers; {best_case:.0%} at 80 GB/s",
        reached >= 0.5,
        "each writer computes as before, and all share the same bandwidth",
    )


def qmcpack(writers: list[int]) -> dict:
    """Overheads by number of writers, at the reached and at the peak bandwidth. Without numbers:
    those of the study, and all of the machine."""
    titan = read_titan()
    full = WRITERS_OF_NODE * titan["nodes"]
    rows = [
        {"writers": n, "reached": overhead(n, BANDWIDTH), "peak": overhead(n, titan["bandwidth"])}
        for n in writers or [WRITERS // 2, WRITERS, 2 * WRITERS, 4 * WRITERS, full]
    ]
    shown = {"bandwidth": BANDWIDTH, "peak": titan["bandwidth"]}
    return {"compute_s": compute_s()} | shown | {"rows": rows}


def report_of(document: dict) -> dict:
    points = select(points_of(document), is_ahead=False)
    tables = {machine: losses(points, machine) for machine in MACHINES}
    return document | {"statements": statements(document), "losses": tables}
