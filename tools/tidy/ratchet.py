# SPDX-License-Identifier: Apache-2.0
"""Old sins may stay until touched; new ones do not enter; paid ones are struck off.

Without a ratchet a new rule could only be switched on the day the whole tree obeys it.
"""

from collections import Counter

from tidy.finding import Finding

LIST = "tools/tidy/ratchet.toml"


def apply(findings: list[Finding], sins: list[dict]) -> list[Finding]:
    """What is left to report once the listed sins are taken away.

    A list entry `{rule, path, count, reason}` covers up to `count` findings of a rule in a file.
    One more than that and all are reported, since nobody can tell which is new; one less and the
    entry itself is reported, so that the list can only shrink.
    """
    found = Counter((one.rule, one.path) for one in findings)
    allowed = {(sin["rule"], sin["path"]): sin["count"] for sin in sins}
    over = {place for place, count in found.items() if count > allowed.get(place, 0)}
    kept = [one for one in findings if (one.rule, one.path) in over]
    for (rule, path), count in allowed.items():
        if found[rule, path] < count:
            message = f"lists {count} of rule {rule} in {path}, but {found[rule, path]} are left"
            kept.append(Finding(LIST, 0, rule, message))
    return kept
