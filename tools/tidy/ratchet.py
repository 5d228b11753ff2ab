# SPDX-License-Identifier: Apache-2.0
"""The list of old violations that are allowed until their file is changed; it can only shrink.

Without it, a new rule could be enabled only after the whole tree follows it.
"""

from collections import Counter

from tidy.finding import Finding

LIST = "tools/tidy/ratchet.toml"


def apply(findings: list[Finding], entries: list[dict]) -> list[Finding]:
    """Returns the findings that the list does not allow.

    A list entry `{rule, path, count, reason}` allows `count` findings of a rule in a file. If there
    are more, all are reported, since it is unknown which one is new. If there are fewer, the entry
    is reported, so that the list can only shrink.
    """
    found = Counter((one.rule, one.path) for one in findings)
    allowed = {(entry["rule"], entry["path"]): entry["count"] for entry in entries}
    over = {place for place, count in found.items() if count > allowed.get(place, 0)}
    kept = [one for one in findings if (one.rule, one.path) in over]
    for (rule, path), count in allowed.items():
        if found[rule, path] < count:
            message = f"lists {count} of rule {rule} in {path}, but {found[rule, path]} are left"
            kept.append(Finding(LIST, 0, rule, message))
    return kept
