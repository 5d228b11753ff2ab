# SPDX-License-Identifier: Apache-2.0
"""The tuner: finds the fastest plan of a space in few measured runs."""
