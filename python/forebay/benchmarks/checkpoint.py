# SPDX-License-Identifier: Apache-2.0
"""`forebay bench checkpoint`: methods of checkpointing compared, until all bytes are on storage.

Each case is a kernel that several backends run in rounds. docs/guides/bench-checkpoint.md defines
the rows.
"""

from statistics import median

from forebay.benchmarks import fio
from forebay.benchmarks.checkpoint_cases import (
    ALONE,
    BRIGADE,
    COMPARISONS,
    COMPUTE_S,
    FIO,
    LIBRARY_SETS,
    MEBIBYTE,
    PAYLOAD_BYTES,
    QUICK_COMPUTE_S,
    ROUNDS,
    STEPS,
    Case,
    Comparison,
    all_cases,
    belongs,
    gather_whole,
    kernel_of,
    library_set_of,
)
from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.errors import ForebayError
from forebay.kernel import metrics
from forebay.kernel.run import RunSettings, backends_of, run

IDS = (
    *(one.id for one in all_cases(MEBIBYTE)),
    *(one.id for one in COMPARISONS),
    "ckpt.memory_over_plan",
    "ckpt.brigade_memory",
)
NATIVE_IDS = ("ckpt.perceived.adopt_us", "ckpt.perceived.over_memcpy", "ckpt.open_us")


class Bench:
    """Measures the cases that the selected rows need, each of them once."""

    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup
        self.payload = PAYLOAD_BYTES[setup.effort]
        self.compute_s = QUICK_COMPUTE_S if setup.effort == "quick" else COMPUTE_S
        self.samples: dict[str, dict[str, list[dict]]] = {}  # by case and backend
        self.fio_settings: dict[str, fio.Setting | None] = {}
        results.parameters |= {"payload_bytes": self.payload, "cases": []}

    def run(self) -> None:
        cases = all_cases(self.payload // STEPS)
        for case in cases:
            if self.needs(case) and self.has_libraries(case):
                self.measure(case)
        for comparison in COMPARISONS:
            if self.results.is_selected(comparison.id):
                self.compare(comparison)
        self.add_memory_rows()

    def needs(self, case: Case) -> bool:
        if self.results.is_selected(case.id):
            return True
        if case.id.startswith("ckpt.memory."):
            ids = ("ckpt.memory_over_plan", "ckpt.brigade_memory")
            return any(map(self.results.is_selected, ids))
        return any(
            self.results.is_selected(one.id) and belongs(case.id, one) for one in COMPARISONS
        )

    def has_libraries(self, case: Case) -> bool:
        """Skips a case whose libraries no program has."""
        library_set = library_set_of(case.id)
        if not library_set:
            return True
        family, version = LIBRARY_SETS[library_set]
        program = self.settings(case).runner
        found = backends_of(program, self.setup.launcher).get(family)
        if found and found["library"].startswith(version):
            return True
        self.results.skip(case.id, f"no program has {version.strip()}; run make kernel-peers")
        return False

    def settings(self, case: Case) -> RunSettings:
        return RunSettings(
            backends=case.backends if case.computing == "none" else (*case.backends, ALONE),
            storage=self.setup.storage,
            ranks=case.writers,
            rounds=1 if case.has_fio else ROUNDS,
            launcher=self.setup.launcher,
            cold=case.readers > 0,
            compute="cpu" if case.computing == "none" else case.computing,
        )

    def measure(self, case: Case) -> None:
        compute_s = 0 if case.computing == "none" else self.compute_s
        kernel = kernel_of(case, self.payload // case.steps, compute_s)
        settings = self.settings(case)
        documents = []
        for _ in range(ROUNDS if case.has_fio else 1):
            documents.append(run(kernel, settings, self.setup.on_progress))
            if case.has_fio:
                self.measure_fio(case)
        self.add_case(case, documents)

    def measure_fio(self, case: Case) -> None:
        direction = "read" if case.readers else "write"
        setting = self.fio_setting(direction)
        if setting is None:
            return
        try:
            rate = fio.measure(self.setup.storage, direction, self.payload // case.steps, setting)
        except ForebayError as error:
            self.results.skip(f"{FIO} in {case.id}", str(error))
            return
        self.samples.setdefault(case.id, {}).setdefault(FIO, []).append({"rate": rate})

    def fio_setting(self, direction: str) -> fio.Setting | None:
        if direction not in self.fio_settings:
            why = fio.unavailable_reason()
            if why:
                self.results.skip(FIO, why)
                self.fio_settings[direction] = None
                return None
            setting, tried = fio.tune(self.setup.storage, direction, self.payload // STEPS)
            self.fio_settings[direction] = setting
            name = "reading" if direction == "read" else "writing"
            text = setting.text() if setting else "none works"
            shown = self.results.parameters.setdefault("fio", {})
            shown |= {name: text, f"tried_{name}": tried}
        return self.fio_settings[direction]

    def add_case(self, case: Case, documents: list[dict]) -> None:
        self.results.machine = documents[0]["machine"]
        found = self.samples.setdefault(case.id, {})
        for document in documents:
            for backend, why in document["failures"].items():
                self.results.skip(f"{backend} in {case.id}", why)
            for one in document["runs"]:
                found.setdefault(one["backend"], []).append(values_of(case, one))
        alone = found.get(ALONE, [])
        for name, samples in found.items():
            if name in (ALONE, FIO):
                continue
            for one, other in zip(samples, alone, strict=False):
                one["durable_over_alone"] = one["durable_s"] / other["total_s"]
                one["computing_over_alone"] = one["compute_s"] / other["compute_s"]
        described = {
            name: {
                metric: metrics.summary([one[metric] for one in samples]) for metric in samples[0]
            }
            for name, samples in found.items()
            if name not in (ALONE, FIO) and samples
        }
        self.results.parameters["cases"].append(
            {
                "case": case.id,
                "writers": case.writers,
                "readers": case.readers,
                "sizes": case.sizes,
                "computing": case.computing,
                "steps": case.steps,
                "mpi": documents[0]["mpi"],
                "candidates": described,
            }
        )
        if self.results.is_selected(case.id):
            self.add_case_row(case)

    def add_case_row(self, case: Case) -> None:
        """The best backend, with all as peers."""
        is_computing = case.computing != "none"
        unit = "1" if is_computing else "MB/s"
        values = {
            name: self.rates(case.id, name, "durable_over_alone" if is_computing else "rate")
            for name in self.samples[case.id]
            if name != ALONE
        }
        own = {name: median(found) for name, found in values.items() if name != FIO and found}
        if not own:
            self.results.skip(case.id, "no backend has complete rounds")
            return
        best = min(own, key=own.get) if is_computing else max(own, key=own.get)
        peers = {name: (unit, found) for name, found in values.items() if found}
        self.results.add(case.id, unit, values[best], peers=peers)

    def rates(self, case_id: str, name: str, metric: str = "rate") -> list[float]:
        samples = self.samples.get(case_id, {}).get(name, [])
        return [one[metric] for one in samples if metric in one]

    def best_of(self, case_id: str, family: str) -> str | None:
        medians = {
            name: median(self.rates(case_id, name))
            for name in self.samples.get(case_id, {})
            if name.partition(":")[0] == family and self.rates(case_id, name)
        }
        return max(medians, key=medians.get, default=None)

    def compare(self, comparison: Comparison) -> None:
        """The worst of all cases."""
        worst = None
        for case_id in self.samples:
            if not belongs(case_id, comparison):
                continue
            ours, theirs = (
                self.best_of(case_id, "forebay"),
                self.best_of(case_id, comparison.family),
            )
            if ours is None or theirs is None:
                continue
            pairs = zip(self.rates(case_id, ours), self.rates(case_id, theirs), strict=False)
            found = [one / other for one, other in pairs]
            if worst is None or median(found) < median(worst[0]):
                worst = found, case_id, ours, theirs
        if worst is None:
            self.results.skip(comparison.id, f"no case has forebay and {comparison.family}")
            return
        values, case_id, ours, theirs = worst
        peers = {f"{n} in {case_id}": ("MB/s", self.rates(case_id, n)) for n in (ours, theirs)}
        goal = None if comparison.goal is None else Goal(comparison.goal)
        self.results.add(comparison.id, "1", values, goal, peers)

    def add_memory_rows(self) -> None:
        found = self.samples.get("ckpt.memory.8.exponential", {})
        if not found:
            return
        self.add_memory_over_plan(found)
        gather = next((name for name in found if name.startswith(gather_whole(0)[:-1])), None)
        if not self.results.is_selected("ckpt.brigade_memory") or gather is None:
            return
        pairs = list(zip(found.get(BRIGADE, []), found[gather], strict=False))
        values = [one["staging_bytes"] / other["staging_bytes"] for one, other in pairs]
        resident = [one["memory_sum_bytes"] / other["memory_sum_bytes"] for one, other in pairs]
        peers = {"resident memory": ("1", resident)} | {
            f"staging of {name}": ("MiB", [one["staging_bytes"] / MEBIBYTE for one in samples])
            for name, samples in found.items()
        }
        self.results.add("ckpt.brigade_memory", "1", values, Goal(0.7, "lower"), peers)

    def add_memory_over_plan(self, found: dict[str, list[dict]]) -> None:
        if not self.results.is_selected("ckpt.memory_over_plan"):
            return
        shares = {n: [one["staging_over_plan"] for one in samples] for n, samples in found.items()}
        worst = max(shares, key=lambda name: median(shares[name]))
        peers = {name: ("1", values) for name, values in shares.items()}
        goal = Goal(1.0, "lower")
        self.results.add("ckpt.memory_over_plan", "1", shares[worst], goal, peers)


def values_of(case: Case, run_document: dict) -> dict[str, float]:
    """Metrics of one run. `rate` is in MB/s to storage, or to the application for a restart."""
    values = metrics.values_of(run_document)
    if case.readers:
        rate = run_document["read_bytes"] / metrics.MEGABYTE / values["blocked_s"]
        return {"rate": rate, "restart_mb_s": rate}
    values["rate"] = run_document["written_bytes"] / metrics.MEGABYTE / values["durable_s"]
    values.pop("durable_mb_s", None)
    if case.computing == "none":
        values["durable_mb_s"] = values["rate"]
    values["drain_s"] = values["durable_s"] - values["total_s"]
    values["interval_s"] = values["durable_s"] / case.steps
    return values
