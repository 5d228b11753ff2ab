# SPDX-License-Identifier: Apache-2.0
"""`forebay view`: shows all steps of a dataset to other programs, in place."""

from pathlib import Path

import click

from forebay.cli.dataset_export import export_target
from forebay.cli.output import (
    check_new_directory,
    check_new_file,
    json_option,
    report,
    require_packages,
)
from forebay.errors import EXIT_FAILED, EXIT_USAGE, ForebayError


@click.command(name="view", short_help="Show a dataset to other programs in place.")
@click.argument("dataset", type=click.Path(), required=False)
@click.option("--hdf5", metavar="FILE", callback=export_target,
              help="Write an HDF5 file, for h5py, NetCDF-4 and VTK [DATASET.h5].")  # fmt: skip
@click.option("--kerchunk", metavar="DIRECTORY",
              callback=lambda _ctx, _parameter, value: check_new_directory(value),
              help="Write references as parquet instead, for Zarr and xarray.")  # fmt: skip
@click.option("--check", metavar="FILE", type=click.Path(),
              help="Check a view that was written before; exit code 1 if it is stale.")  # fmt: skip
@click.option("--step", type=click.IntRange(0), metavar="N", help="Show only this step [all].")
@click.option("--field", "fields", metavar="NAME", multiple=True,
              help="Show only this field; repeat it for several.")  # fmt: skip
@json_option
def command(dataset, check, json_file, **options):
    """Write a small HDF5 file whose datasets are in the data files of DATASET: all steps, without
    a copy."""
    if (dataset is None) == (check is None):
        raise ForebayError("name a dataset, or a view with --check", EXIT_USAGE)
    if check is not None:
        return _check(check, json_file)
    document = _write(dataset, **options)
    report(document, json_file, lambda console: _tables().print_view(console, document))
    return 0


def _write(dataset: str, hdf5, kerchunk, step, fields) -> dict:
    if hdf5 is not None and kerchunk is not None:
        raise ForebayError("--hdf5 and --kerchunk exclude each other; choose one", EXIT_USAGE)
    if kerchunk is not None:
        require_packages("--kerchunk", ("pandas", "fastparquet"), "view")
    from forebay.view import hdf5 as hdf5_view
    from forebay.view import zarr_references
    from forebay.view.places import read_steps

    output = kerchunk or hdf5 or check_new_file(f"{Path(dataset).resolve().stem}.h5")
    steps, unreadable = read_steps(dataset, step=step)
    if kerchunk is not None:
        shown = zarr_references.write_parquet(steps, list(fields), output)
    else:
        shown = hdf5_view.write(dataset, steps, list(fields), output)
    shown["view_bytes"] = _bytes_of(Path(output))
    shown["excluded"] = [one.document() for one in unreadable] + shown["excluded"]
    return {"path": dataset, "output": output, "steps": [one.number for one in steps]} | shown


def _bytes_of(view: Path) -> int:
    files = view.rglob("*") if view.is_dir() else [view]
    return sum(file.stat().st_size for file in files if file.is_file())


def _check(view: str, json_file):
    from forebay.view import hdf5 as hdf5_view

    document = hdf5_view.check(view)
    report(document, json_file, lambda console: _tables().print_view_check(console, document))
    return 0 if document["ok"] else EXIT_FAILED


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
