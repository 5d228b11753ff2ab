# SPDX-License-Identifier: Apache-2.0
"""The Python side of Forebay: the command line, its reports and pictures.

Reading and measuring is done by native programs; this package calls them and shows what they say.
"""

__version__ = "0.1.0"
