# SPDX-License-Identifier: Apache-2.0
"""`forebay export`: a step of a dataset for other people's programs."""

import click

from forebay import native
from forebay.cli.dataset import PROGRAM, dataset_argument, field_option, step_option
from forebay.cli.output import STDOUT, check_new_file, json_option, report
from forebay.errors import EXIT_USAGE, ForebayError


def _target(_ctx, _parameter, value):
    if value == STDOUT:
        raise ForebayError("name a file; standard output cannot take an export", EXIT_USAGE)
    return check_new_file(value)


@click.command(name="export", short_help="A step for Zarr or HDF5.")
@dataset_argument
@click.option("--kerchunk", metavar="FILE", callback=_target,
              help="References to the bytes in place, for zarr and xarray.")  # fmt: skip
@click.option("--hdf5", metavar="FILE", callback=_target, help="A copy as HDF5.")
@step_option
@field_option
@json_option
def command(dataset, kerchunk, hdf5, json_file, **options):
    """Make a step of DATASET readable for zarr and xarray, in place, or for HDF5, as a copy."""
    if (kerchunk is None) == (hdf5 is None):
        raise ForebayError("--kerchunk FILE or --hdf5 FILE is needed; take one of them", EXIT_USAGE)
    words = native.options_of(options)
    if kerchunk is not None:
        document = native.call(PROGRAM, ["references", dataset, kerchunk, *words]).document
    else:
        document = _copy(dataset, hdf5, words)
    report(document, json_file, lambda console: _tables().print_exported(console, document))


def _copy(dataset: str, file: str, words: list[str]) -> dict:
    from forebay.hdf5_copy import copy
    from forebay.report.terminal import progress

    with progress() as on_progress, native.streaming(PROGRAM, ["read", dataset, *words]) as stream:
        return {"path": dataset} | copy(stream, file, on_progress)


def _tables():
    from forebay.report import dataset_tables

    return dataset_tables
