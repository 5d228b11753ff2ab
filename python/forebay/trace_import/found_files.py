# SPDX-License-Identifier: Apache-2.0
"""What a reader of a log finds besides records: files, their names, and warnings."""

FILES_MAX = 65535
FILE_UNKNOWN = 65535  # the number of a file without a number


class FoundFiles:
    """Numbers files in the order of their first records. A key identifies a file in its log."""

    def __init__(self, names: dict | None = None):
        self.names = names or {}  # by key, also of files without records
        self.warnings: list[str] = []
        self._numbers: dict = {}

    def number(self, key) -> int:
        if key not in self._numbers and len(self._numbers) == FILES_MAX:
            text = (
                f"only {FILES_MAX} files have a number; accesses to all others look like one file"
            )
            self.warnings += [text] if text not in self.warnings else []
            return FILE_UNKNOWN
        return self._numbers.setdefault(key, len(self._numbers))

    def number_up_to(self, last: int) -> None:
        """Files of a log that has numbers as keys."""
        while len(self._numbers) <= last:
            self.names.setdefault(len(self._numbers), f"file {len(self._numbers)}")
            self.number(len(self._numbers))

    def names_in_order(self) -> list[str]:
        """A name for each number; the key if the log has no name."""
        return [str(self.names.get(key, key)) for key in self._numbers]
