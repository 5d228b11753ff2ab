# SPDX-License-Identifier: Apache-2.0
"""Measures the time of `forebay --help`, and of each command's help; the goal is 150 ms.

Usage: .venv/bin/python python/tests/measure_startup.py [RUNS]
Runs are interleaved, so that load by other processes affects all alike. The processor time beside
is that of an idle machine. Exit code 1 if a median is over the goal.
"""

import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT_MS = 150
COMMANDS = ["", "doctor", "bench", "demo", "tipsy", "tipsy analyze"]


def measure(program: str, args: str) -> tuple[float, float]:
    """Elapsed time and processor time in milliseconds."""
    before, start = processor_s(), time.perf_counter()
    subprocess.run([program, *args.split(), "--help"], stdout=subprocess.DEVNULL, check=True)
    return 1e3 * (time.perf_counter() - start), 1e3 * (processor_s() - before)


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    beside = Path(sys.executable).parent / "forebay"
    program = str(beside) if beside.exists() else shutil.which("forebay")
    if program is None:
        sys.exit("no forebay beside this Python or on PATH; run make build")
    times = {args: [] for args in COMMANDS}
    for _ in range(runs):
        for args in COMMANDS:
            times[args].append(measure(program, args))
    over = False
    for args, samples in times.items():
        wall, processor = (statistics.median(column) for column in zip(*samples, strict=True))
        over = over or wall > LIMIT_MS
        name = f"forebay {args}".strip()
        print(f"{name:24} {wall:6.0f} ms   ({processor:.0f} ms of processor time)")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
