# SPDX-License-Identifier: Apache-2.0
"""Files that show a dataset to other programs in place: HDF5, and references for Zarr."""
