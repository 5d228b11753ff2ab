# SPDX-License-Identifier: Apache-2.0
"""The Python side of Forebay: the command line, its reports and plots.

Native programs read and measure. This package runs them and presents their results.
"""

__version__ = "1.0.0"
