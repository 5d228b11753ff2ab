# SPDX-License-Identifier: Apache-2.0
"""What scripts/test is made of: stages to run and results to add up."""
