# SPDX-License-Identifier: Apache-2.0
"""`forebay bench cube`: remappers of Cube profiles. The scheme of the original, the improvements of
the study one by one, and Forebay; all compute the same values, each in a separate process."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forebay import native
from forebay.benchmarks.rows import (
    Goal,
    Results,
    Setup,
    paired_rounds,
    ratios,
    require_space,
    summarize,
)
from forebay.errors import ForebayError

PROGRAM = "forebay-cube"
STAGE_PROGRAM = "forebay-bench-remap-stage"
ORIGINAL, ONE_PASS, ALL_CORES = "original", "+ one pass", "+ all cores"
# From the original to Forebay; each includes the previous ones.
STAGES = (ORIGINAL, "+ AIO", "+ pinning", "+ alignment", "+ pool", ONE_PASS, ALL_CORES)
THREADS = {ONE_PASS: ("--threads", "1"), ALL_CORES: ()}  # of the stages of Forebay

OVER_ORIGINAL = "cube.over_original"
AMPLIFICATION = "cube.write_amplification"
EFFICIENCY = "cube.efficiency"
TWO_THREADS = "cube.threads"
# Threads of the inputs of the study, and of a quick run. Goals are defined for the largest.
INPUTS = {
    f"{OVER_ORIGINAL}.small": (65535, 1023),
    f"{OVER_ORIGINAL}.medium": (131071, 2047),
    OVER_ORIGINAL: (262143, 4095),
}
NATIVE_IDS = ("cube.spec.evaluated",)
IDS = (*INPUTS, AMPLIFICATION, EFFICIENCY, TWO_THREADS)
ROWS_OF_STUDY = 614
VALUE_BYTES = 8
# The re-mapping of the study is unknown. This one copies all stored metrics and computes six
# derived ones that are commonly viewed. Its ratio of computing to writing is close to that of the
# study.
DERIVED = {
    "mpi_time": ("sec", "${is_mpi}[${calculation::callpath::id}] * metric::time(e)"),
    "omp_time": ("sec", "${is_omp}[${calculation::callpath::id}] * metric::time(e)"),
    "instructions_per_cycle": ("1", "metric::PAPI_TOT_INS(e) / metric::PAPI_TOT_CYC(e)"),
    "stalled_time": (
        "sec",
        "metric::time(e) * (1 - metric::PAPI_FP_OPS(e) / max(metric::PAPI_FP_OPS(e) + 20 * "
        "metric::PAPI_L2_TCM(e) + 200 * metric::PAPI_L3_TCM(e), 1))",
    ),
    "bandwidth": (
        "bytes/sec",
        "(metric::bytes_sent(e) + metric::bytes_received(e)) / metric::time(e)",
    ),
    "time_per_visit": (
        "sec",
        "{ ${mean} = metric::time(e) / metric::visits(e); if ( ${mean} > metric::max_time(e) ) "
        "{ ${mean} = metric::max_time(e); }; return ${mean}; }",
    ),
}
INIT = """
      <cubeplinit>
      {
          global(is_mpi); global(is_omp);
          ${i} = 0;
          while ( ${i} < ${cube::#callpaths} )
          {
              ${paradigm} = ${cube::region::paradigm}[${cube::callpath::calleeid}[${i}]];
              if ( ${paradigm} eq "mpi" ) { ${is_mpi}[${i}] = 1; };
              if ( ${paradigm} eq "openmp" ) { ${is_omp}[${i}] = 1; };
              ${i} = ${i} + 1;
          };
          return 0;
      }
      </cubeplinit>"""
# Computed repeatedly from the first metric of any generated profile.
ROOT = """{
      ${visits} = metric::visits(e);
      ${root} = ${visits};
      ${i} = 0;
      while ( ${i} < 30 ) {
        ${root} = ( ${root} + ${visits} / ${root} ) / 2;
        ${i} = ${i} + 1;
      };
      return ${root};
    }"""


def specification(metrics: dict[str, tuple[str, str]], init: str = "") -> str:
    """Of metrics by their names: unit and expression."""
    text = '<metrics title="forebay bench cube">\n'
    for name, (unit, expression) in metrics.items():
        text += f"""  <metric type="PREDERIVED_EXCLUSIVE">
    <disp_name>{name}</disp_name> <uniq_name>{name}</uniq_name>
    <dtype>FLOAT</dtype> <uom>{unit}</uom>{init}
    <cubepl>{expression}</cubepl>
  </metric>
"""
        init = ""
    return f"{text}</metrics>\n"


@dataclass(frozen=True)
class StageRun:
    """Times in seconds, until the output is on stable storage; compute_s is per thread."""

    usage: native.ProgramUsage
    compute_s: float
    write_s: float
    output_bytes: int
    efficiency: float = 0  # model time / time of the whole run, for Forebay

    @property
    def total_s(self) -> float:
        return self.usage.seconds


Runs = dict[str, list[StageRun]]  # by name of the stage, one of each round


def values_of(runs: Runs, stage: str, value: Callable[[StageRun], float]) -> list[float]:
    return [value(one) for one in runs[stage]]


def totals(runs: Runs, stage: str) -> list[float]:
    return values_of(runs, stage, lambda one: one.total_s)


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.folder = setup.storage
        self.is_quick = setup.effort == "quick"
        self.rounds = 2 if self.is_quick else 5
        self.on_progress = setup.on_progress
        self.input = setup.storage / "input.cubex"
        self.spec = setup.storage / "metrics.spec"

    def run(self) -> None:
        documents = []
        for name, threads in INPUTS.items():
            others = (AMPLIFICATION, EFFICIENCY) if name == OVER_ORIGINAL else ()
            if any(map(self.results.is_selected, (name, *others))):
                runs = self.compare_stages(threads[self.is_quick])
                self.add_rows(name, runs)
                documents.append(self.document_of(threads[self.is_quick], runs))
        if documents:
            self.results.parameters["cube.stages"] = documents
        if self.results.is_selected(TWO_THREADS):
            self.add_threads()

    def generate(self, threads: int, options: dict) -> None:
        arguments = native.option_arguments({"threads": threads} | options)
        native.run_program(PROGRAM, ["generate", str(self.input), *arguments])

    def run_stage(self, stage: str, output: Path) -> StageRun:
        output.unlink(missing_ok=True)
        if stage in THREADS:
            return self.remap(THREADS[stage], output)
        arguments = [stage, str(self.input), str(self.spec), str(output)]
        done = native.run_program(STAGE_PROGRAM, arguments)
        return StageRun(done.usage, **done.document, output_bytes=output.stat().st_size)

    def remap(self, options: tuple[str, ...], output: Path) -> StageRun:
        arguments = ["remap", str(self.input), "--output", str(output), "--spec", str(self.spec)]
        done = native.run_program(PROGRAM, [*arguments, *options])
        stream, threads = done.document["stream"], done.document["threads"]
        # Of the whole run: opening and planning cannot overlap with anything; publishing is not
        # modeled.
        model_s = done.document["planning_s"] + stream["model_s"]
        return StageRun(
            done.usage,
            stream["compute_s"] * stream["buffers"] / threads,  # is per buffer
            stream["producer_wait_s"] / threads,
            output.stat().st_size,
            model_s / done.document["seconds"],
        )

    def output_of(self, number: int) -> Path:
        """Quick runs keep all outputs, to compare them; other runs have space for one."""
        return self.folder / f"output-{number if self.is_quick else 0}.cubex"

    def compare_stages(self, threads: int) -> Runs:
        # Space for the input, its temporary files and the output, each with the added metrics.
        require_space(self.folder, 6 * VALUE_BYTES * ROWS_OF_STUDY * threads)
        self.spec.write_text(specification(DERIVED, INIT), encoding="utf-8")
        self.generate(threads, {"rows": ROWS_OF_STUDY})
        variants = {
            stage: lambda stage=stage, number=number: self.run_stage(stage, self.output_of(number))
            for number, stage in enumerate(STAGES)
        }
        name = f"{OVER_ORIGINAL}, {threads} threads"
        runs = paired_rounds(name, variants, self.rounds, self.on_progress)
        for number in range(1, len(STAGES) if self.is_quick else 1):
            paths = (str(self.output_of(0)), str(self.output_of(number)))
            found = native.run_program(PROGRAM, ["diff", *paths], accepted_codes=(0, 3)).document
            if not found["ok"]:
                raise ForebayError(f"{STAGES[number]} differs from the original: {found}")
        for number in range(len(STAGES)):
            self.output_of(number).unlink(missing_ok=True)
        return runs

    def add_rows(self, name: str, runs: Runs) -> None:
        over = {one: ratios(totals(runs, ORIGINAL), totals(runs, one)) for one in STAGES}
        if self.results.is_selected(name):
            peers = {one: ("1", over[one]) for one in STAGES if one != ALL_CORES}
            peers |= {f"{one}, time": ("s", totals(runs, one)) for one in STAGES}
            goal = Goal(2.5) if name == OVER_ORIGINAL else None
            self.results.add(name, "1", over[ALL_CORES], goal, peers)
        if name != OVER_ORIGINAL:
            return
        if self.results.is_selected(AMPLIFICATION):
            self.add_amplification(runs)
        if self.results.is_selected(EFFICIENCY):
            found = {
                one: values_of(runs, one, lambda run: run.efficiency)
                for one in (ONE_PASS, ALL_CORES)
            }
            peers = {ONE_PASS: ("1", found[ONE_PASS])}
            self.results.add(EFFICIENCY, "1", found[ALL_CORES], Goal(0.9), peers)

    def add_amplification(self, runs: Runs) -> None:
        if any(one.usage.written_bytes is None for samples in runs.values() for one in samples):
            why = "this system does not count what a process writes"
            self.results.skip(AMPLIFICATION, why)
            return
        found = {
            one: values_of(runs, one, lambda run: run.usage.written_bytes / run.output_bytes)
            for one in STAGES
        }
        peers = {one: ("1", found[one]) for one in STAGES if one != ALL_CORES}
        self.results.add(AMPLIFICATION, "1", found[ALL_CORES], Goal(1.02, "lower"), peers)

    def document_of(self, threads: int, runs: Runs) -> dict:
        """For the plot."""

        def shown(values: list[float]) -> dict:
            summary = summarize(values)
            return {key: summary[key] for key in ("value", "spread")}

        stages = [
            {
                "name": one,
                "total": shown(totals(runs, one)),
                "compute": shown(values_of(runs, one, lambda run: run.compute_s)),
                "write": shown(values_of(runs, one, lambda run: run.write_s)),
                "memory_bytes": runs[one][-1].usage.memory_bytes,
            }
            for one in STAGES
        ]
        ratio = values_of(runs, ORIGINAL, lambda run: run.compute_s / run.write_s)
        return {
            "threads": threads,
            "input_bytes": self.input.stat().st_size,
            "output_bytes": runs[ALL_CORES][-1].output_bytes,
            "compute_over_write": shown(ratio),
            "stages": stages,
        }

    def add_threads(self) -> None:
        """The gain of a second thread for a remap that computes much more than it writes. It has as
        many rows as the study's inputs, so that opening and publishing, on one thread, are
        negligible."""
        if len(os.sched_getaffinity(0)) < 2:
            self.results.skip(TWO_THREADS, "only one core is available")
            return
        self.spec.write_text(specification({"root": ("1", ROOT)}), encoding="utf-8")
        cnodes = 56 if self.is_quick else ROWS_OF_STUDY
        self.generate(1023 if self.is_quick else 65535, {"metrics": 1, "cnodes": cnodes})
        output = self.folder / "output.cubex"

        def timed(threads: int) -> Callable[[], float]:
            def run() -> float:
                output.unlink(missing_ok=True)
                return self.remap(("--threads", str(threads)), output).total_s

            return run

        variants = {"1 thread": timed(1), "2 threads": timed(2)}
        times = paired_rounds(TWO_THREADS, variants, self.rounds, self.on_progress)
        peers = {name: ("s", samples) for name, samples in times.items()}
        gain = ratios(times["1 thread"], times["2 threads"])
        self.results.add(TWO_THREADS, "1", gain, Goal(1.7), peers)
