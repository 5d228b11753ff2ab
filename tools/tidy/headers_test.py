# SPDX-License-Identifier: Apache-2.0
"""Headers that lean on others are found, and verdicts about headers are remembered."""

from tidy import headers, programs


def test_a_header_that_leans_on_others_is_found(plant):
    tree = plant({"src/base/a.hpp": "#pragma once\ninline std::string f() { return {}; }\n"})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_a_header_that_stands_alone_is_allowed(plant):
    text = "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n"
    assert headers.check_headers_alone(plant({"include/forebay/a.hpp": text})) == []


def test_a_verdict_is_forgotten_when_an_included_header_changes(plant):
    files = {"src/base/a.hpp": '#pragma once\n#include "base/b.hpp"\nusing A = B;\n'}
    assert headers.check_headers_alone(plant(files | {"src/base/b.hpp": "using B = int;\n"})) == []
    findings = headers.check_headers_alone(plant(files | {"src/base/b.hpp": "using C = int;\n"}))
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_a_verdict_is_remembered_good_or_bad(plant, monkeypatch):
    tree = plant({"src/base/a.hpp": "int f(\n", "src/base/b.hpp": "int f();\n"})
    first = headers.check_headers_alone(tree)
    real, asked = programs.run, []

    def counting(command, *rest):
        asked.append(command)
        return real(command, *rest)

    monkeypatch.setattr(programs, "run", counting)
    assert headers.check_headers_alone(tree) == first
    assert [command for command in asked if "-fsyntax-only" in command] == []


def test_a_time_out_is_a_finding_and_not_remembered(plant, monkeypatch):
    tree = plant({"src/base/a.hpp": "int f();\n"})
    monkeypatch.setattr(programs, "run", lambda command, *_: (124, "too slow"))
    assert len(headers.check_headers_alone(tree)) == 1
    monkeypatch.undo()
    assert headers.check_headers_alone(tree) == []


def test_what_most_include_is_compiled_once_and_hides_nothing(plant):
    usual = "".join(f"#include <{one}>\n" for one in headers.PREFIX_SETS["usual"])
    good = f"#pragma once\n{usual}inline std::vector<int> f() {{ return {{}}; }}\n"
    bad = f"#pragma once\n{usual}inline std::list<int> g() {{ return {{}}; }}\n"
    tree = plant({"src/base/a.hpp": good, "src/base/b.hpp": bad})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}
    assert (tree.root / headers.PREFIXES / "usual.hpp.gch").exists()


def test_only_what_a_header_includes_anyway_stands_before_it():
    sets = headers.PREFIX_SETS
    assert headers.prefix_for(frozenset(sets["usual"])) == "usual"
    assert headers.prefix_for(frozenset(sets["usual"]) - {"span"}) is None
    assert headers.prefix_for(frozenset(sets["waiting"]) | {"list"}) == "waiting"


def test_of_all_wheels_the_one_with_a_header_counts():
    wheels = "mpich==5.0.2\nmpich-more==1\npytest==9.2.0\n"
    assert headers.pinned(wheels, "mpich") == "mpich==5.0.2"
    assert headers.pinned("pytest==9.2.0\n", "mpich") == ""
