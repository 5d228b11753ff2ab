# SPDX-License-Identifier: Apache-2.0
"""`forebay bench kernel`: draws against their distributions, the runner beside a loop by hand, and
equal bytes of all backends and of emitted programs. docs/benchmarks.md has the results."""

import concurrent.futures
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from forebay import irregular_study, native
from forebay.benchmarks.rows import Goal, Results, Setup, ratios
from forebay.emufs_mount import mount_machine
from forebay.errors import ForebayError, SkippedError
from forebay.kernel import advise, metrics
from forebay.kernel.emit import emit
from forebay.kernel.kernel_file import Kernel, read_kernel, sized_kernel
from forebay.kernel.run import OPENMPI_RUNNER, RunSettings, draw, run, step_bytes

LOOP = "forebay-bench-kernel-loop"
STEPS = 15
WRITERS = 4096
SEEDS = range(1, 6)
ROUNDS = 5
TMPFS = Path("/dev/shm")
LOOP_BYTES = {"quick": 1 << 20, "usual": 16 << 20, "full": 64 << 20}  # of a rank in a step
LOOP_RANKS = 2
LIMIT_S = 120
MEAN = 24e6
FAMILIES = {
    "uniform": {"low": 22e6, "high": 26e6},
    "normal": {"mean": MEAN, "deviation": 4e6},
    "exponential": {"mean": MEAN},
    "lognormal": {"mean": MEAN, "deviation": 12e6},
    "gamma": {"mean": MEAN, "deviation": 12e6},
    "quantiles": {"values": [1e6, 10e6, 20e6, 60e6]},
    "mixture": {
        "parts": [
            {"family": "normal", "mean": 10e6, "deviation": 1e6, "weight": 0.7},
            {"family": "exponential", "mean": 40e6, "weight": 0.3},
        ]
    },
}
BACKENDS = (
    "forebay",
    "forebay:brigade,writers=1",
    "forebay:gather,writers=1",
    "session",
    "posix",
    "posix:direct",
    "posix:shared",
    "posix:per-call",
    "mpiio",
    "mpiio:collective",
)
LIBRARY_BACKENDS = (
    "hdf5",
    "hdf5:collective",
    "pmpio",
    "pnetcdf",
    "adios1",
    "adios1:gather",
    "adios1:posix",
)
FITS = ("kernel.fit.sizes", "kernel.fit.ranks", "kernel.fit.ops", "kernel.fit_s", "kernel.fit_mib")
STUDY = ("kernel.study_s", "kernel.deck")
NATIVE_IDS = ("kernel.draw_us",)
IDS = (
    *("kernel.ks_p", "kernel.mean_error", "kernel.overhead"),
    *("kernel.same_bytes", "kernel.emit.same_bytes"),
    *FITS,
    *STUDY,
    "kernel.advise",
)
LOG = "darshan/flash-io-192ranks.darshan"
FIT_ROUNDS = 5
STATEMENTS = 8


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup

    def run(self) -> None:
        if any(map(self.results.is_selected, ("kernel.ks_p", "kernel.mean_error"))):
            self.add_draws()
        if self.results.is_selected("kernel.overhead"):
            self.add_overhead()
        if self.results.is_selected("kernel.same_bytes"):
            self.add_same_bytes()
        if self.results.is_selected("kernel.emit.same_bytes"):
            self.add_emitted_bytes()
        if any(map(self.results.is_selected, FITS)):
            self.add_fits()
        if any(map(self.results.is_selected, STUDY)):
            self.add_study()
        if self.results.is_selected("kernel.advise"):
            self.add_advice()

    def add_advice(self) -> None:
        """Time with the advised setting / with the best of all, in the worst of three kernels."""
        name = "kernel.advise"
        peers, worst = {}, []
        try:
            with mount_machine("lustre-small", self.setup.storage) as storage:
                for kernel in advised_kernels():
                    ratios = self.advised_over_best(kernel, storage)
                    peers[kernel.name] = ("1", ratios)
                    worst = ratios if not worst or median(ratios) > median(worst) else worst
        except SkippedError as error:
            self.results.skip(name, str(error))
            return
        self.results.add(name, "1", worst, Goal(1.15, "lower"), peers)

    def advised_over_best(self, kernel: Kernel, storage: Path) -> list[float]:
        """Each round has all settings: an exhaustive sweep."""
        ranks = kernel.writers
        settings = RunSettings(advise.candidates(kernel, ranks), storage, ranks, compute_scale=0)
        advised = advise.advise(kernel, settings, "posix", self.setup.on_progress).advised
        sweep = run(kernel, settings, self.setup.on_progress)
        self.results.machine = sweep["machine"]
        times: dict[str, list[float]] = {}
        for one in sweep["runs"]:
            values = metrics.values_of(one)
            times.setdefault(one["backend"], []).append(values[advise.METRIC])
        best = min(times, key=lambda setting: median(times[setting]))
        return ratios(times[advised], times[best])

    def add_fits(self) -> None:
        """Fits of a log of others, each in a process of its own."""
        samples = os.environ.get("FOREBAY_SAMPLES")
        if not samples:
            for name in FITS:
                self.results.skip(name, "FOREBAY_SAMPLES does not name a directory of samples")
            return
        seconds, mebibytes = [], []
        for _ in range(FIT_ROUNDS):
            with concurrent.futures.ProcessPoolExecutor(max_workers=1) as pool:
                took, peak, found, numbers = pool.submit(timed_fit, Path(samples) / LOG).result()
            seconds.append(took)
            mebibytes.append(peak)
        peers = {"numbers of the kernel": ("1", [float(numbers)])}
        values = {f"kernel.fit.{name}": ("1", [found[name]], 0.05) for name in found}
        values |= {"kernel.fit_s": ("s", seconds, 8), "kernel.fit_mib": ("MiB", mebibytes, 1024)}
        for name, (unit, measured, goal) in values.items():
            if self.results.is_selected(name):
                self.results.add(name, unit, measured, Goal(goal, "lower"), peers)

    def add_study(self) -> None:
        begin = time.perf_counter()
        report = irregular_study.report_of(
            irregular_study.measure(64, True, self.setup.on_progress)
        )
        if self.results.is_selected("kernel.study_s"):
            seconds = time.perf_counter() - begin
            self.results.add("kernel.study_s", "s", [seconds], Goal(600, "lower"))
        answered = [one for one in report["statements"] if any(map(str.isdigit, one["answer"]))]
        confirmed = sum(one["verdict"] == "confirmed" for one in answered)
        if self.results.is_selected("kernel.deck"):
            peers = {"confirmed": ("1", [float(confirmed)])}
            goal = Goal(STATEMENTS)
            self.results.add("kernel.deck", "statements", [float(len(answered))], goal, peers)

    def add_draws(self) -> None:
        """The worst of all families and seeds decides."""
        from scipy.stats import kstest

        from forebay.kernel.curves import cumulative

        p_values: dict[str, list[float]] = {}
        errors: dict[str, list[float]] = {}
        for family, parameters in FAMILIES.items():
            for seed in SEEDS:
                kernel = sized_kernel({"family": family} | parameters, WRITERS, STEPS, seed)
                size = kernel.operations[0].size
                drawn = draw(kernel, WRITERS, STEPS * WRITERS)["operations"][0]["sizes"]
                test = kstest(drawn, lambda values, size=size: cumulative(size, values))
                mean = sum(drawn) / len(drawn)
                p_values.setdefault(family, []).append(float(test.pvalue))
                errors.setdefault(family, []).append(abs(mean / mean_of(size) - 1))
        self.add_worst("kernel.ks_p", "1", p_values, Goal(5e-4))
        self.add_worst("kernel.mean_error", "1", errors, Goal(0.016, "lower"))

    def add_worst(self, name: str, unit: str, found: dict[str, list[float]], goal: Goal) -> None:
        if not self.results.is_selected(name):
            return
        worst = min if goal.better == "higher" else max
        values = [worst(values) for values in found.values()]
        peers = {family: (unit, values) for family, values in found.items()}
        self.results.add(name, unit, [worst(values)], goal, peers)

    def add_overhead(self) -> None:
        """Blocked time of the runner's POSIX backend / that of a loop by hand, in memory."""
        name = "kernel.overhead"
        if not native.is_built(LOOP):
            self.results.skip(name, f"{LOOP} is not built; run make bench")
            return
        size = LOOP_BYTES[self.setup.effort]
        kernel = sized_kernel({"family": "constant", "value": size}, LOOP_RANKS, STEPS)
        settings = RunSettings(("posix",), TMPFS, LOOP_RANKS, rounds=1)
        ours, loop = [], []
        for number in range(ROUNDS + 1):
            pair = (self.run_loop, size), (self.run_posix, kernel, settings)
            times = {call: call(*args) for call, *args in (pair if number % 2 else pair[::-1])}
            if number > 0:
                ours.append(times[self.run_posix])
                loop.append(times[self.run_loop])
        values = ratios(ours, loop)
        peers = {"runner": ("s", ours), "loop": ("s", loop)}
        self.results.add(name, "1", values, Goal(1.03, "lower"), peers)

    def run_loop(self, size: int) -> float:
        with tempfile.TemporaryDirectory(prefix="forebay-kernel-", dir=TMPFS) as folder:
            arguments = [folder, str(STEPS), str(size)]
            return native.run_program(LOOP, arguments, ranks=LOOP_RANKS).document["seconds"]

    def run_posix(self, kernel: Kernel, settings: RunSettings) -> float:
        document = run(kernel, settings, self.setup.on_progress)
        self.results.machine = document["machine"]
        return metrics.blocked_s(document["runs"][0])

    def small_kernels(self) -> list[Kernel]:
        """Irregular sizes, and strided writes that are read back."""
        size = {"family": "exponential", "mean": 200_000}
        strided = read_kernel("btio").model_copy(update={"steps": 2})
        still = {"compute_s": sized_kernel(size, 1, 1).compute_s}
        return [sized_kernel(size, 4, 5), strided.model_copy(update=still)]

    def add_same_bytes(self) -> None:
        name = "kernel.same_bytes"
        backends = BACKENDS
        if native.is_built(OPENMPI_RUNNER):
            backends += LIBRARY_BACKENDS
        else:
            why = f"{OPENMPI_RUNNER} is not built; run make kernel-peers"
            self.results.skip(f"libraries in {name}", why)
        equal = dict.fromkeys(backends, True)
        for kernel in self.small_kernels():
            options = {"rounds": 1, "warm_ups": 0, "verify_all": True}
            settings = RunSettings(backends, self.setup.storage, kernel.writers, **options)
            document = run(kernel, settings, self.setup.on_progress)
            self.results.machine = document["machine"]
            bytes_of = {one["backend"]: one for one in document["runs"]}
            expected = step_bytes(kernel, kernel.writers)
            for backend in backends:
                equal[backend] &= has_bytes(bytes_of.get(backend), expected)
        values = {backend: ("1", [float(found)]) for backend, found in equal.items()}
        share = sum(equal.values()) / len(equal)
        self.results.add(name, "1", [share], Goal(1.0), values)

    def add_emitted_bytes(self) -> None:
        name = "kernel.emit.same_bytes"
        compiler = Path(native.mpi_launcher()[0]).with_name("mpicc")
        if not compiler.exists():
            self.results.skip(name, "no compiler of MPI beside its launcher")
            return
        found = {}
        for kernel in self.small_kernels():
            for one in self.run_emitted(kernel, compiler):
                is_equal = has_bytes(one, step_bytes(kernel, kernel.writers))
                found[f"{kernel.name}, {one['backend']}"] = ("1", [float(is_equal)])
        values = [one for _, (one,) in found.values()]
        self.results.add(name, "1", [sum(values) / len(values)], Goal(1.0), found)

    def run_emitted(self, kernel: Kernel, compiler: Path) -> list[dict]:
        with tempfile.TemporaryDirectory(
            prefix="forebay-kernel-", dir=self.setup.storage
        ) as folder:
            program, data = Path(folder) / "program", Path(folder) / "data"
            data.mkdir()
            emit(kernel, kernel.writers, ["posix", "mpiio"], program)
            build = ["make", "-s", "-C", str(program), f"CC={compiler}"]
            backends = ["posix:shared", "mpiio", "mpiio:collective"]
            start = [*native.launcher(kernel.writers), str(program / "kernel"), str(data)]
            try:
                subprocess.run(build, check=True, capture_output=True, timeout=LIMIT_S)
                done = subprocess.run(
                    [*start, *backends], check=True, capture_output=True, timeout=LIMIT_S
                )
            except subprocess.SubprocessError as error:
                raise ForebayError(
                    f"the emitted program of {kernel.name} failed: {error}"
                ) from None
        return [json.loads(line) for line in done.stdout.splitlines()]


def advised_kernels() -> list[Kernel]:
    """Small enough for an emulated storage of 500 MB/s."""
    sizes = {
        "regular": {"family": "uniform", "low": 3.6e6, "high": 4.4e6},
        "irregular": {"family": "exponential", "mean": 4e6},
        "small": {"family": "normal", "mean": 64e3, "deviation": 8e3},
    }
    return [sized_kernel(size, 4, 3, name=name) for name, size in sizes.items()]


def timed_fit(log: Path) -> tuple[float, float, dict[str, float], int]:
    """Seconds, peak of resident memory in MiB with children, distances, numbers of the kernel."""
    from forebay.kernel.fit.fitting import fit_log

    begin = time.perf_counter()
    fitted = fit_log(log, None, lambda _: None)
    seconds = time.perf_counter() - begin
    usage = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak_kib = sum(resource.getrusage(one).ru_maxrss for one in usage)
    distances = {name: float(fitted.goodness[name]) for name in ("sizes", "ranks", "ops")}
    return seconds, peak_kib / 1024, distances, fitted.kernel.count_numbers()


def mean_of(distribution) -> float:
    match distribution.family:
        case "uniform":
            return (distribution.low + distribution.high) / 2
        case "quantiles":
            values = distribution.values
            middles = [(one + other) / 2 for one, other in zip(values, values[1:], strict=False)]
            return sum(middles) / len(middles)
        case "mixture":
            total = sum(part.weight for part in distribution.parts)
            return sum(part.weight / total * mean_of(part) for part in distribution.parts)
        case _:
            return distribution.mean


def has_bytes(document: dict | None, expected: list[list[int]]) -> bool:
    """Whether a run has written these bytes and verified them afterwards."""
    if document is None or "error" in document:
        return False
    written = sum(map(sum, expected))
    total = sum(map(sum, document["step_bytes"]))
    is_verified = document["verified_bytes"] >= written
    is_same = document["written_bytes"] == written
    return is_verified and is_same and total == written + document["read_bytes"]
