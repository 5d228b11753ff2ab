# SPDX-License-Identifier: Apache-2.0
"""I/O kernels: files, fitting to logs, runs with several libraries, and reports."""
