# SPDX-License-Identifier: Apache-2.0
"""`forebay demo`: one snapshot, one analysis, read through std::ifstream and through Forebay; one
file cut into more and more tasks, from a disk and from a parallel file system; and checkpoints of a
solver that is killed and goes on."""

import json
import os
import shutil
from pathlib import Path

import click

from forebay import outputs
from forebay.cli import demo_checkpoints
from forebay.cli.output import STDOUT, json_option, report, say
from forebay.errors import ForebayError, NativeError, SkippedError

SIZES = {False: ("1GiB", 1 << 30), True: ("64MiB", 64 << 20)}  # by --quick
SPACE_BESIDE_BYTES = 256 << 20
STATE_LIMIT_S = 20  # for the pairs of a state, after the first three
PARALLEL_STORAGE = "lustre-small"
SAMPLE_ENDINGS = (".tbin", ".std", ".tipsy")


@click.command(name="demo", short_help="Analyse a 1 GiB snapshot both ways.")
@click.option("--quick", is_flag=True, help="64 MiB instead of 1 GiB.")
@click.option(
    "--dir",
    "folder",
    default="build/demo",
    show_default=True,
    type=click.Path(file_okay=False),
    help="Where the snapshot and the pictures go; made if it is missing.",
)
@json_option
def command(quick, folder, json_file):
    """Make a Plummer sphere of gas, dark and star particles (once), analyse it in thousands of
    tasks that read it through std::ifstream and through Forebay, cold and warm; read a file by 2 to
    16384 tasks, on two ranks where there is an MPI, while a computation goes on, and, as root, from
    an emulated parallel file system; keep checkpoints of a flow solver while it computes, kill it,
    go on with other ranks, and keep them in each way that there is, where there is an MPI; and draw
    what came out. With FOREBAY_SAMPLES set, the real
    snapshots in that folder are analysed too."""
    place = prepare(Path(folder))
    snapshot, generated = obtain_snapshot(place, *SIZES[quick])
    comparisons = [run_pairs(snapshot, cold) for cold in (True, False)]
    found = {
        "many_tasks": run_benchmark("tasks", place, quick),
        "servers": read_from_servers(place, quick),
    }
    checkpoints = demo_checkpoints.show(place, quick)
    samples = analyse_samples()
    pictures = draw(place, comparisons, generated["model"], found)
    pictures += demo_checkpoints.draw(checkpoints, place)
    document = to_document(generated, comparisons, samples, found)
    document |= {"checkpoints": checkpoints.to_document(), "pictures": pictures}

    def show(console):
        _tables().print_demo(console, document)
        demo_checkpoints.print_shown(console, checkpoints)

    report(document, json_file, show)
    if json_file != STDOUT:
        say(json_file, "Pictures:\n" + "\n".join(f"  {picture}" for picture in pictures))


def prepare(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}; choose another folder with --dir"
        raise ForebayError(message) from None
    return folder


def obtain_snapshot(folder: Path, size: str, size_bytes: int) -> tuple[Path, dict]:
    """The snapshot and what its generator said: from an earlier run if nothing touched it since."""
    from forebay.cli import tipsy

    snapshot = folder / f"plummer-{size}.tipsy"
    note = snapshot.with_suffix(".json")
    if (generated := read_note(note, snapshot)) is not None:
        return snapshot, generated
    snapshot.unlink(missing_ok=True)
    require_space(folder, size_bytes)
    generated = tipsy.generate_snapshot(str(snapshot), {"size": size})
    facts = snapshot.stat()
    stamp = {"file_bytes": facts.st_size, "changed_ns": facts.st_mtime_ns}
    outputs.write_text(note, json.dumps({"stamp": stamp, "generated": generated}))
    return snapshot, generated


def read_note(note: Path, snapshot: Path) -> dict | None:
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
            "free some, or choose another folder with --dir"
        )


def run_pairs(snapshot: Path, cold: bool):
    """Compares the readers on a file that is dropped from the page cache, or lies in it."""
    from forebay.cli import tipsy
    from forebay.comparison import compare

    def analyse(reader: str, told: str) -> dict:
        options = {"source": reader, "cold": cold}
        return tipsy.ask("analyse", str(snapshot), options, told=told).document

    if not cold:
        analyse("ifstream", "warming up: ")
    return compare(analyse, cold, STATE_LIMIT_S)


def run_benchmark(name: str, folder: Path, quick: bool) -> dict:
    """What `forebay bench NAME` says."""
    from forebay.cli import bench

    options = {"folder": str(folder), "quick": quick, "full": False, "only": None, "ranks": 2}
    document, error = bench.run(name, options)
    if error is not None:
        raise error
    return document


def read_from_servers(folder: Path, quick: bool) -> dict:
    """What `forebay bench servers` says on a parallel file system that is mounted for it; where
    nothing can be mounted, the reason."""
    from forebay.mounted import mounted
    from forebay.servers import skipped

    try:
        with mounted(PARALLEL_STORAGE, folder) as storage:
            return run_benchmark("servers", storage, quick)
    except SkippedError as why:
        return skipped(str(why))


def sample_files() -> list[Path]:
    """Real snapshots, where FOREBAY_SAMPLES names a folder of them."""
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        return []
    return sorted(path for path in Path(folder).rglob("*") if path.suffix in SAMPLE_ENDINGS)


def analyse_samples() -> list[dict]:
    """Analyses each sample with both readers; files that cannot be read are left out and named."""
    from forebay.cli import tipsy
    from forebay.comparison import require_same

    samples = []
    for file in sample_files():
        options = {"tasks": 64}
        try:
            ours = tipsy.ask("analyse", str(file), options | {"source": "forebay"}).document
        except NativeError as refused:
            click.echo(f"left out: {refused}", err=True)
            continue
        theirs = tipsy.ask("analyse", str(file), options | {"source": "ifstream"}).document
        require_same(theirs, ours)
        samples.append(ours)
    return samples


def draw(folder: Path, comparisons: list, model: dict, found: dict) -> list[str]:
    from forebay.many_tasks import points_of
    from forebay.report.demo_plot import draw_times
    from forebay.report.density_plot import draw_density
    from forebay.report.servers_plot import draw_servers
    from forebay.report.tasks_plot import draw_tasks
    from forebay.servers import found_in

    density, times, tasks, servers = (
        folder / f"{name}.png" for name in ("density", "times", "tasks", "servers")
    )
    draw_density(comparisons[0].analyses["forebay"][-1], density, model["scale_radius"])
    draw_times(comparisons, times)
    draw_tasks(found["many_tasks"]["parameters"], points_of(found["many_tasks"]), tasks)
    pictures = [density, times, tasks]
    if "skipped" not in found["servers"]:
        draw_servers(found_in(found["servers"]), servers)
        pictures.append(servers)
    return [str(picture) for picture in pictures]


def to_document(generated: dict, comparisons: list, samples: list, found: dict) -> dict:
    from forebay import comparison, servers
    from forebay import many_tasks as points

    return {
        "analysis": comparisons[0].analyses["forebay"][-1],
        "model": generated["model"],
        "readers_agree": True,  # or compare() had raised
        **{one.state: comparison.to_document(one) for one in comparisons},
        "many_tasks": points.to_document(found["many_tasks"]),
        "servers": servers.to_document(found["servers"]),
        "samples": samples,
    }


def _tables():
    from forebay.report import demo_tables

    return demo_tables
