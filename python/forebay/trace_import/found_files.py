# SPDX-License-Identifier: Apache-2.0
"""What a reader of a log finds besides records: files, their names, and warnings."""

FILES_MAX = 65535  # as a number: a file without a number
NUMBER_MAX = 2**63 - 1  # of offset + size


class FoundFiles:
    """Numbers files in the order of their first records. A key identifies a file in its log."""

    def __init__(self):
        self.names: dict = {}  # by key, also of files without records
        self.warnings: list[str] = []
        self._numbers: dict = {}

    def number(self, key) -> int:
        if key not in self._numbers and len(self._numbers) == FILES_MAX:
            text = (
                f"only {FILES_MAX} files have a number; accesses to all others look like one file"
            )
            self.warnings += [text] if text not in self.warnings else []
            return FILES_MAX
        return self._numbers.setdefault(key, len(self._numbers))

    def printable_names(self) -> list[str]:
        """A name in one line for each number; the key if the log has no name."""
        return [" ".join(self.names.get(key, str(key)).splitlines()) for key in self._numbers]
