#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the rules of the style over the tree and reports each violation with its path and line.

Usage: .venv/bin/python tools/tidy/check.py [--format] [--junit FILE] [RULE...]

`make tidy` and `make test` run the rules that take seconds, `make test-all` also the slow ones.
`make format` rewrites all files in their format.
"""

import argparse
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

from tidy import headers, layers, programs, ratchet, text, voice  # noqa: E402
from tidy.finding import Finding  # noqa: E402
from tidy.tree import SourceTree  # noqa: E402

# Each of them compiles much of the tree; they run only if they are named.
SLOW_RULES: dict[str, programs.Rule] = {
    "headers-alone": headers.check_headers_alone,
    "clang-tidy": programs.check_clang_tidy,
}


def all_rules() -> dict[str, programs.Rule]:
    """Returns every rule by name, the fast ones first."""
    table = layers.load_table()
    return {
        "layers": partial(layers.check_layers, table=table),
        "bans": partial(layers.check_bans, table=table),
        "file-length": text.check_file_length,
        "line-length": text.check_line_length,
        "test-functions": text.check_test_functions,
        "head": text.check_heads,
        "names": text.check_names,
        "machine-paths": text.check_machine_paths,
        "exit-or-print": text.check_exits_and_prints,
        "bool-parameters": text.check_bool_parameters,
        "todos": text.check_todos,
        "voice": voice.check_voice,
        "sentences": voice.check_sentences,
        **programs.RULES,
        **SLOW_RULES,
    }


def run_rules(tree: SourceTree, rules: dict[str, programs.Rule]) -> dict[str, list[Finding]]:
    """Runs the rules, prints their findings, and returns them by rule, after the ratchet."""
    entries = tomllib.loads(tree.texts[ratchet.LIST])["allowed"]
    results = {}
    for name, rule in rules.items():
        start = time.monotonic()
        listed = [entry for entry in entries if entry["rule"] == name]
        results[name] = ratchet.apply(rule(tree), listed)
        result = f"{len(results[name])} found" if results[name] else "ok"
        print(f"{name:15} {time.monotonic() - start:6.1f} s   {result}", flush=True)
        for finding in results[name]:
            print(f"  {finding}", flush=True)
    return results


def write_junit(results: dict[str, list[Finding]], path: Path) -> None:
    """Writes a JUnit file with one test case per rule."""
    suite = ElementTree.Element("testsuite", name="tidy")
    for name, findings in results.items():
        case = ElementTree.SubElement(suite, "testcase", name=name)
        if findings:
            failure = ElementTree.SubElement(case, "failure", message=f"{len(findings)} found")
            failure.text = "\n".join(str(finding) for finding in findings)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the source tree against the style.")
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="rules to run (default: all but the slow ones)"
    )
    parser.add_argument(
        "--format", action="store_true", help="rewrite all files in their format and run no rule"
    )
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="write the results also as JUnit XML to FILE"
    )
    arguments = parser.parse_args()
    tree = SourceTree(TOOLS.parent)
    if arguments.format:
        return programs.rewrite_formats(tree)
    rules = all_rules()
    if unknown := set(arguments.rules) - set(rules):
        names = ", ".join(sorted(unknown))
        parser.error(f"no such rule: {names}; the rules are {', '.join(rules)}")
    fast = [name for name in rules if name not in SLOW_RULES]
    results = run_rules(tree, {name: rules[name] for name in arguments.rules or fast})
    if arguments.junit:
        write_junit(results, arguments.junit)
    return 1 if any(results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
