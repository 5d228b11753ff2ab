# SPDX-License-Identifier: Apache-2.0
"""The part of `forebay demo` about `forebay run`: a Python program that is not changed reads the
header of each record of a file, from an emulated NFS server."""

import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from forebay import run_job
from forebay.emufs_mount import mount_machine
from forebay.errors import ForebayError, SkippedError
from forebay.work_folder import work_folder

STORAGE = "nfs"
RECORDS = {False: 600, True: 60}  # by --quick
RECORD_BYTES = 64 << 10
ROUNDS = {False: 3, True: 1}
PROGRAM = """
import sys

with open(sys.argv[1], "rb", buffering=0) as file:
    total = 0
    for record in range(int(sys.argv[2])):
        file.seek(record * 65536)
        total += sum(file.read(1024))
with open(sys.argv[3], "w") as result:
    print(total, file=result)
"""
WAYS = {
    "plain": "on its own",
    "first": "under forebay run, first run",
    "second": "under forebay run, later runs",
}


@dataclass
class UnchangedDemo:
    """Seconds of each run, or the reason why there are none."""

    records: int = 0
    times: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    skipped: str = ""

    def medians(self) -> dict[str, float]:
        return {way: median(times) for way, times in self.times.items()}

    def to_document(self) -> dict:
        if self.skipped:
            return {"skip_reason": self.skipped}
        return {"records": self.records, "times_s": self.times}


def show(folder: Path, quick: bool) -> UnchangedDemo:
    demo = UnchangedDemo(RECORDS[quick])
    try:
        with mount_machine(STORAGE, folder) as storage, work_folder(folder, "run") as place:
            data = storage / "records"
            data.write_bytes(random.Random(1).randbytes(demo.records * RECORD_BYTES))
            for _ in range(ROUNDS[quick]):
                _run_round(demo, data, place)
    except SkippedError as why:
        demo.skipped = str(why)
    return demo


def _run_round(demo: UnchangedDemo, data: Path, place: Path) -> None:
    results = set()
    profiles = place / f"profiles-{len(demo.times['plain'])}"
    for way in WAYS:
        result = place / "result"
        command = [sys.executable, "-S", "-c", PROGRAM, data, demo.records, result]
        _drop_cache(data)
        begin = time.monotonic()
        code = _run([str(word) for word in command], None if way == "plain" else profiles)
        demo.times[way].append(time.monotonic() - begin)
        if code != 0:
            raise ForebayError(f"the program of the demo failed {WAYS[way]}: exit status {code}")
        results.add(result.read_text())
    if len(results) != 1:
        raise ForebayError("the program of the demo has another result under forebay run")


def _run(command: list[str], profiles: Path | None) -> int:
    if profiles is None:
        return run_job.run_program(command, run_job.environment(None))
    return run_job.run(command, run_job.RunOptions(profiles=profiles.absolute()))[0]


def _drop_cache(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def draw(demo: UnchangedDemo, folder: Path) -> list[str]:
    """Draws the plot, and returns its path."""
    from forebay.report.unchanged_plot import draw_unchanged

    if demo.skipped:
        return []
    picture = folder / "unchanged.png"
    draw_unchanged(demo, WAYS, picture)
    return [str(picture)]


def print_unchanged_demo(console, demo: UnchangedDemo) -> None:
    from forebay.report import units
    from forebay.report.terminal import table

    if demo.skipped:
        console.print(f"Without `forebay run`: {demo.skipped}.\n")
        return
    title = f"A Python program, not changed: {demo.records} reads from emulated NFS"
    result = table(title, "run", "time", "spread", "times as fast", right=(1, 2, 3))
    medians = demo.medians()
    for way, name in WAYS.items():
        times = demo.times[way]
        spread = units.quantity_range(min(times), max(times), "s")
        ratio = units.number(medians["plain"] / medians[way])
        result.add_row(name, units.duration(medians[way]), spread, ratio)
    console.print(result)
