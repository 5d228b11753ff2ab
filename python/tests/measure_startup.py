# SPDX-License-Identifier: Apache-2.0
"""Takes the time from `forebay --help` to its end, and of each command's help; the goal is 150 ms.

Usage: .venv/bin/python python/tests/measure_startup.py [RUNS]
Runs are interleaved, so that load of others hits all alike. Exit code 1 if a median is over.
"""

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT_MS = 150
COMMANDS = ["", "doctor", "bench", "demo", "tipsy", "tipsy analyse"]


def measure(program: str, words: str) -> float:
    start = time.perf_counter()
    subprocess.run([program, *words.split(), "--help"], stdout=subprocess.DEVNULL, check=True)
    return 1e3 * (time.perf_counter() - start)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    beside = Path(sys.executable).parent / "forebay"
    program = str(beside) if beside.exists() else shutil.which("forebay")
    if program is None:
        sys.exit("there is no forebay beside this Python or on PATH; run make build")
    times = {words: [] for words in COMMANDS}
    for _ in range(runs):
        for words in COMMANDS:
            times[words].append(measure(program, words))
    for words, samples in times.items():
        name = f"forebay {words}".strip()
        print(f"{name:24} {statistics.median(samples):6.0f} ms   (fastest {min(samples):.0f})")
    return int(any(statistics.median(samples) > LIMIT_MS for samples in times.values()))


if __name__ == "__main__":
    sys.exit(main())
