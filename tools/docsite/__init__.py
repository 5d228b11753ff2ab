# SPDX-License-Identifier: Apache-2.0
"""Builds the parts of the documentation site that are not pages of `docs/`."""
