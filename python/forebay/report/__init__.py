# SPDX-License-Identifier: Apache-2.0
"""How results look: numbers with units, tables in the terminal, pictures."""
