# SPDX-License-Identifier: Apache-2.0
"""Fits a kernel to a log: `fitting.fit_log()`. Sources reduce a log to sketches of bounded size
(`sketch`), models are candidates for each file class (`models`), and `choice` spends numbers."""
