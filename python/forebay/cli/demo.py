# SPDX-License-Identifier: Apache-2.0
"""`forebay demo`: shows the use of Forebay in five parts.

One analysis reads a snapshot through std::ifstream and through Forebay. More and more tasks read a
file, from a disk and from a parallel file system. A solver writes checkpoints, is killed and is
restarted. Predictors follow the patterns of the File Access Server. A program that is not changed
becomes faster.
"""

import json
import os
import shutil
from pathlib import Path

import click

from forebay import atomic_output, native
from forebay.cli import demo_checkpoints, demo_unchanged
from forebay.cli.output import STDOUT, json_option, print_line, report
from forebay.errors import ForebayError, NativeError, SkippedError

SIZES = {False: ("1GiB", 1 << 30), True: ("64MiB", 64 << 20)}  # by --quick
SPACE_BESIDE_BYTES = 256 << 20
STATE_LIMIT_S = 20  # for the pairs of a state, after the first three
PARALLEL_STORAGE = "lustre-small"
SAMPLE_ENDINGS = (".tbin", ".std", ".tipsy")


@click.command(name="demo", short_help="Analyze a 1 GiB snapshot both ways.")
@click.option("--quick", is_flag=True, help="64 MiB instead of 1 GiB.")
@click.option(
    "--dir",
    "folder",
    default="build/demo",
    show_default=True,
    type=click.Path(file_okay=False),
    help="Directory of the snapshot and the plots; created if missing.",
)
@json_option
def command(quick, folder, json_file):
    """Read a snapshot with and without Forebay, and restart a solver from its checkpoints.

    Generate a Plummer sphere of gas, dark and star particles (once). Analyze it in thousands of
    tasks, through std::ifstream and through Forebay, cold and warm. With FOREBAY_SAMPLES set, also
    analyze the real snapshots in that directory.

    Read a file by 2 to 16384 tasks while a computation runs: on two ranks if MPI is installed, and,
    as root, from an emulated parallel file system.

    With MPI, write checkpoints of a flow solver while it computes, kill it, restart it with other
    ranks, and compare all strategies of writing.

    Predict the reads of known patterns, and compare page faults with those of the File Access
    Server.

    As root, run a Python program, not changed, on its own and under `forebay run`, from an emulated
    NFS server. Plot the results.
    """
    place = prepare(Path(folder))
    snapshot, generated = prepare_snapshot(place, *SIZES[quick])
    comparisons = [run_pairs(snapshot, cold) for cold in (True, False)]
    results = {
        "many_tasks": run_benchmark("tasks", place, quick),
        "servers": read_from_servers(place, quick),
    }
    checkpoints = demo_checkpoints.show(place, quick)
    samples = analyze_samples()
    pictures = draw(place, comparisons, generated["model"], results)
    pictures += demo_checkpoints.draw(checkpoints, place)
    unchanged = demo_unchanged.show(place, quick)
    pictures += demo_unchanged.draw(unchanged, place)
    document = to_document(generated, comparisons, samples, results)
    prediction = native.tools().simulate_trace()
    pictures.append(draw_prediction(prediction, place))
    document |= {
        "checkpoints": checkpoints.to_document(),
        "prediction": prediction["streams"],
        "unchanged": unchanged.to_document(),
        "pictures": pictures,
    }

    def show(console):
        _tables().print_demo(console, document)
        demo_checkpoints.print_checkpoint_demo(console, checkpoints)
        _prediction().print_beside_slides(console, prediction)
        demo_unchanged.print_unchanged_demo(console, unchanged)

    report(document, json_file, show)
    if json_file != STDOUT:
        print_line(json_file, "Pictures:\n" + "\n".join(f"  {picture}" for picture in pictures))


def prepare(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot create {folder}: {error.strerror}; choose another directory with --dir"
        raise ForebayError(message) from None
    return folder


def prepare_snapshot(folder: Path, size: str, size_bytes: int) -> tuple[Path, dict]:
    """The snapshot and its generator's document, from an earlier run if the file is unchanged."""
    from forebay.cli import tipsy

    snapshot = folder / f"plummer-{size}.tipsy"
    note = snapshot.with_suffix(".json")
    if (generated := read_generator_note(note, snapshot)) is not None:
        return snapshot, generated
    snapshot.unlink(missing_ok=True)
    require_space(folder, size_bytes)
    generated = tipsy.generate_snapshot(str(snapshot), {"size": size})
    facts = snapshot.stat()
    stamp = {"file_bytes": facts.st_size, "changed_ns": facts.st_mtime_ns}
    atomic_output.write_text(note, json.dumps({"stamp": stamp, "generated": generated}))
    return snapshot, generated


def read_generator_note(note: Path, snapshot: Path) -> dict | None:
    try:
        text = json.loads(note.read_text(encoding="utf-8"))
        facts = snapshot.stat()
        same = text["stamp"] == {"file_bytes": facts.st_size, "changed_ns": facts.st_mtime_ns}
        return text["generated"] if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def require_space(folder: Path, size_bytes: int) -> None:
    from forebay.report import units

    free = shutil.disk_usage(folder).free
    needed = size_bytes + SPACE_BESIDE_BYTES
    if free < needed:
        raise ForebayError(
            f"{folder} has {units.size(free)} free and {units.size(needed)} are needed; "
            "free some, or choose another directory with --dir"
        )


def run_pairs(snapshot: Path, cold: bool):
    """Compares the readers on a file that was dropped from the page cache, or is cached."""
    from forebay.cli import tipsy
    from forebay.comparison import compare

    def analyze(reader: str, label: str) -> dict:
        options = {"source": reader, "cold": cold}
        return tipsy.run_native("analyze", str(snapshot), options, label=label).document

    if not cold:
        analyze("ifstream", "warming up: ")
    return compare(analyze, cold, STATE_LIMIT_S)


def run_benchmark(name: str, folder: Path, quick: bool) -> dict:
    """The document of `forebay bench NAME`."""
    from forebay.cli import bench

    options = {"folder": str(folder), "quick": quick, "full": False, "only": None, "ranks": 2}
    options |= {"launcher": None}
    document, error = bench.run(name, options)
    if error is not None:
        raise error
    return document


def read_from_servers(folder: Path, quick: bool) -> dict:
    """The document of `forebay bench servers` on a parallel file system that is mounted for it; the
    reason if nothing can be mounted."""
    from forebay.emufs_mount import mount_machine
    from forebay.servers import skipped_document

    try:
        with mount_machine(PARALLEL_STORAGE, folder) as storage:
            return run_benchmark("servers", storage, quick)
    except SkippedError as why:
        return skipped_document(str(why))


def sample_files() -> list[Path]:
    """The real snapshots in the directory that FOREBAY_SAMPLES names; none if it is not set."""
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        return []
    return sorted(path for path in Path(folder).rglob("*") if path.suffix in SAMPLE_ENDINGS)


def analyze_samples() -> list[dict]:
    """Analyzes each sample with both readers. Files that cannot be read are left out and named."""
    from forebay.cli import tipsy
    from forebay.comparison import require_same

    samples = []
    for file in sample_files():
        options = {"tasks": 64}
        try:
            ours = tipsy.run_native("analyze", str(file), options | {"source": "forebay"}).document
        except NativeError as refused:
            click.echo(f"left out: {refused}", err=True)
            continue
        theirs = tipsy.run_native("analyze", str(file), options | {"source": "ifstream"}).document
        require_same(theirs, ours)
        samples.append(ours)
    return samples


def draw(folder: Path, comparisons: list, model: dict, results: dict) -> list[str]:
    from forebay.many_tasks import parse_points
    from forebay.report.demo_plot import draw_times
    from forebay.report.density_plot import draw_density
    from forebay.report.servers_plot import draw_servers
    from forebay.report.tasks_plot import draw_tasks
    from forebay.servers import parse_results

    density, times, tasks, servers = (
        folder / f"{name}.png" for name in ("density", "times", "tasks", "servers")
    )
    draw_density(comparisons[0].analyses["forebay"][-1], density, model["scale_radius"])
    draw_times(comparisons, times)
    draw_tasks(results["many_tasks"]["parameters"], parse_points(results["many_tasks"]), tasks)
    pictures = [density, times, tasks]
    if "skip_reason" not in results["servers"]:
        draw_servers(parse_results(results["servers"]), servers)
        pictures.append(servers)
    return [str(picture) for picture in pictures]


def draw_prediction(document: dict, folder: Path) -> str:
    picture = folder / "foresight.png"
    _prediction().draw_simulation(document, picture)
    return str(picture)


def to_document(generated: dict, comparisons: list, samples: list, results: dict) -> dict:
    from forebay import comparison, servers
    from forebay import many_tasks as points

    return {
        "analysis": comparisons[0].analyses["forebay"][-1],
        "model": generated["model"],
        "readers_agree": True,  # otherwise compare() has raised an error
        **{one.state: comparison.to_document(one) for one in comparisons},
        "many_tasks": points.to_document(results["many_tasks"]),
        "servers": servers.to_document(results["servers"]),
        "samples": samples,
    }


def _tables():
    from forebay.report import demo_tables

    return demo_tables


def _prediction():
    from forebay.report import trace_simulation_tables

    return trace_simulation_tables
