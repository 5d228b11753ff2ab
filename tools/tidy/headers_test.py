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
    asked = compilations(monkeypatch)
    assert headers.check_headers_alone(tree) == first
    assert asked == []


def compilations(monkeypatch):
    """The commands that look at headers from now on."""
    real, asked = programs.run, []

    def counting(command, *rest):
        if "-fsyntax-only" in command:
            asked.append(command)
        return real(command, *rest)

    monkeypatch.setattr(programs, "run", counting)
    return asked


def test_a_time_out_is_a_finding_and_not_remembered(plant, monkeypatch):
    tree = plant({"src/base/a.hpp": "int f();\n"})
    monkeypatch.setattr(programs, "run", lambda command, *_: (124, "too slow"))
    assert len(headers.check_headers_alone(tree)) == 1
    monkeypatch.undo()
    assert headers.check_headers_alone(tree) == []


def test_headers_behind_each_other_are_compiled_in_one_go(plant, monkeypatch):
    files = {
        "src/base/a.hpp": "#pragma once\nusing A = int;\n",
        "src/base/b.hpp": '#pragma once\n#include "base/a.hpp"\nusing B = A;\n',
        "src/base/c.hpp": '#pragma once\n#include <string>\n#include "base/b.hpp"\nusing C = B;\n',
    }
    asked = compilations(monkeypatch)
    assert headers.check_headers_alone(plant(files)) == []
    assert len(asked) == 1


def test_no_header_is_helped_by_one_that_stands_before_it(plant):
    files = {
        "src/base/a.hpp": "#pragma once\n#include <string>\n",
        "src/base/b.hpp": "#pragma once\ninline std::string f() { return {}; }\n",
        "src/base/c.hpp": '#pragma once\n#include "base/a.hpp"\n#include "base/b.hpp"\n',
    }
    findings = headers.check_headers_alone(plant(files))
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}


def test_a_header_that_fails_is_told_apart_from_those_compiled_with_it(plant):
    files = {
        "src/base/a.hpp": "#pragma once\nusing A = int;\n",
        "src/base/b.hpp": '#pragma once\n#include "base/a.hpp"\nusing B = Unknown;\n',
    }
    findings = headers.check_headers_alone(plant(files))
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}


def test_in_a_chain_each_header_sees_all_before_it():
    seen = {name: frozenset(name) for name in ("a", "b", "ab", "abc", "bcd", "abcd")}
    chains = headers.chains_of(seen)
    assert chains == [["a", "ab", "abc", "abcd"], ["b", "bcd"]]
    assert headers.chains_of({}) == []


def test_what_is_included_late_is_no_help_to_what_stands_before(plant):
    late = '#pragma once\ninline std::string f() { return {}; }\n#include "base/b.hpp"\n'
    files = {"src/base/a.hpp": late, "src/base/b.hpp": "#pragma once\n#include <string>\n"}
    findings = headers.check_headers_alone(plant(files))
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_includes_behind_other_directives_are_not_late():
    text = (
        "// int a;\n#pragma once\n#define A(x) \\\n  x\n#include <a>\n#if A\n#include <b>\n#endif\n"
    )
    assert not headers.includes_late(text)
    assert headers.includes_late(text + "int a;\n#  include <c>\n")
    assert not headers.includes_late(text + "int a;\n")


def test_what_stands_in_front_belongs_to_the_first_of_a_chain(plant):
    usual = "".join(f"#include <{one}>\n" for one in headers.PREFIX_SETS["usual"])
    first = "#pragma once\ninline std::string f() { return {}; }\n"
    behind = f'#pragma once\n{usual}#include "base/a.hpp"\n'
    tree = plant({"src/base/a.hpp": first, "src/base/b.hpp": behind})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


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
