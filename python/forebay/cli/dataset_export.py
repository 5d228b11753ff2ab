# SPDX-License-Identifier: Apache-2.0
"""`forebay export`: exports a step of a dataset for programs without Forebay."""

import click

from forebay import native
from forebay.cli.dataset import dataset_argument, field_option, progress, step_option
from forebay.cli.output import STDOUT, check_new_file, json_option, report
from forebay.errors import EXIT_USAGE, ForebayError


def export_target(_ctx, _parameter, value):
    if value == STDOUT:
        raise ForebayError("standard output cannot hold an export; name a file", EXIT_USAGE)
    return check_new_file(value)


@click.command(name="export", short_help="Export a step for Zarr or HDF5.")
@dataset_argument
@click.option("--kerchunk", metavar="FILE", callback=export_target,
              help="Write references to the bytes in place, for Zarr and xarray.")  # fmt: skip
@click.option("--hdf5", metavar="FILE", callback=export_target, help="Write a copy as HDF5.")
@step_option
@field_option
@json_option
def command(dataset, kerchunk, hdf5, json_file, **options):
    """Export a step of DATASET for Zarr and xarray, in place, or for HDF5, as a copy."""
    if (kerchunk is None) == (hdf5 is None):
        raise ForebayError(
            "exactly one of --kerchunk and --hdf5 is required; choose one", EXIT_USAGE
        )
    if kerchunk is not None:
        document = _references(dataset, kerchunk, **options)
    else:
        document = _copy(dataset, hdf5, options)
    report(document, json_file, lambda console: _tables().print_exported(console, document))


def _copy(dataset: str, file: str, options: dict) -> dict:
    from forebay.hdf5_copy import copy

    blocks = native.tools().open_blocks(dataset, **options)
    with progress() as on_progress:
        return {"path": dataset} | copy(blocks, file, on_progress)


def _references(dataset: str, file: str, step, fields) -> dict:
    from forebay.view import zarr_references
    from forebay.view.places import read_steps

    selection = {"newest": True} if step is None else {"step": step}
    (chosen,), _unreadable = read_steps(dataset, **selection)
    document = zarr_references.write_json(dataset, chosen, list(fields), file)
    return {"path": dataset, "output": file, "step": chosen.number} | document


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
