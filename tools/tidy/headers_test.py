# SPDX-License-Identifier: Apache-2.0
"""Headers that depend on others are found, and results about headers are cached."""

from tidy import headers, programs


def test_header_that_depends_on_others_is_found(make_tree):
    tree = make_tree({"src/base/a.hpp": "#pragma once\ninline std::string f() { return {}; }\n"})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_self_contained_header_is_allowed(make_tree):
    text = "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n"
    assert headers.check_headers_alone(make_tree({"include/forebay/a.hpp": text})) == []


def test_cached_result_is_dropped_when_an_included_header_changes(make_tree):
    files = {"src/base/a.hpp": '#pragma once\n#include "base/b.hpp"\nusing A = B;\n'}
    assert (
        headers.check_headers_alone(make_tree(files | {"src/base/b.hpp": "using B = int;\n"})) == []
    )
    findings = headers.check_headers_alone(
        make_tree(files | {"src/base/b.hpp": "using C = int;\n"})
    )
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_result_is_cached_good_or_bad(make_tree, monkeypatch):
    tree = make_tree({"src/base/a.hpp": "int f(\n", "src/base/b.hpp": "int f();\n"})
    first = headers.check_headers_alone(tree)
    commands = compilations(monkeypatch)
    assert headers.check_headers_alone(tree) == first
    assert commands == []


def compilations(monkeypatch):
    """Returns a list that collects the commands that compile headers from now on."""
    real, commands = programs.run, []

    def counting(command, *rest):
        if "-fsyntax-only" in command:
            commands.append(command)
        return real(command, *rest)

    monkeypatch.setattr(programs, "run", counting)
    return commands


def test_timeout_is_a_finding_and_not_cached(make_tree, monkeypatch):
    tree = make_tree({"src/base/a.hpp": "int f();\n"})
    monkeypatch.setattr(programs, "run", lambda command, *_: (124, "too slow"))
    assert len(headers.check_headers_alone(tree)) == 1
    monkeypatch.undo()
    assert headers.check_headers_alone(tree) == []


def test_headers_that_include_each_other_are_compiled_in_one_call(make_tree, monkeypatch):
    files = {
        "src/base/a.hpp": "#pragma once\nusing A = int;\n",
        "src/base/b.hpp": '#pragma once\n#include "base/a.hpp"\nusing B = A;\n',
        "src/base/c.hpp": '#pragma once\n#include <string>\n#include "base/b.hpp"\nusing C = B;\n',
    }
    commands = compilations(monkeypatch)
    assert headers.check_headers_alone(make_tree(files)) == []
    assert len(commands) == 1


def test_earlier_header_hides_no_missing_include(make_tree):
    files = {
        "src/base/a.hpp": "#pragma once\n#include <string>\n",
        "src/base/b.hpp": "#pragma once\ninline std::string f() { return {}; }\n",
        "src/base/c.hpp": '#pragma once\n#include "base/a.hpp"\n#include "base/b.hpp"\n',
    }
    findings = headers.check_headers_alone(make_tree(files))
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}


def test_failing_header_is_separated_from_those_compiled_with_it(make_tree):
    files = {
        "src/base/a.hpp": "#pragma once\nusing A = int;\n",
        "src/base/b.hpp": '#pragma once\n#include "base/a.hpp"\nusing B = Unknown;\n',
    }
    findings = headers.check_headers_alone(make_tree(files))
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}


def test_header_of_a_chain_includes_all_before_it():
    seen = {name: frozenset(name) for name in ("a", "b", "ab", "abc", "bcd", "abcd")}
    chains = headers.chains_of(seen)
    assert chains == [["a", "ab", "abc", "abcd"], ["b", "bcd"]]
    assert headers.chains_of({}) == []


def test_late_include_hides_no_missing_include(make_tree):
    late = '#pragma once\ninline std::string f() { return {}; }\n#include "base/b.hpp"\n'
    files = {"src/base/a.hpp": late, "src/base/b.hpp": "#pragma once\n#include <string>\n"}
    findings = headers.check_headers_alone(make_tree(files))
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_includes_after_other_directives_are_not_late():
    text = (
        "// int a;\n#pragma once\n#define A(x) \\\n  x\n#include <a>\n#if A\n#include <b>\n#endif\n"
    )
    assert not headers.includes_late(text)
    assert headers.includes_late(text + "int a;\n#  include <c>\n")
    assert not headers.includes_late(text + "int a;\n")


def test_prefix_is_that_of_the_first_header_of_a_chain(make_tree):
    usual = "".join(f"#include <{one}>\n" for one in headers.PREFIX_SETS["usual"])
    first = "#pragma once\ninline std::string f() { return {}; }\n"
    behind = f'#pragma once\n{usual}#include "base/a.hpp"\n'
    tree = make_tree({"src/base/a.hpp": first, "src/base/b.hpp": behind})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/a.hpp"}


def test_prefix_is_compiled_once_and_hides_no_missing_include(make_tree):
    usual = "".join(f"#include <{one}>\n" for one in headers.PREFIX_SETS["usual"])
    good = f"#pragma once\n{usual}inline std::vector<int> f() {{ return {{}}; }}\n"
    bad = f"#pragma once\n{usual}inline std::list<int> g() {{ return {{}}; }}\n"
    tree = make_tree({"src/base/a.hpp": good, "src/base/b.hpp": bad})
    findings = headers.check_headers_alone(tree)
    assert {finding.path for finding in findings} == {"src/base/b.hpp"}
    assert (tree.root / headers.PREFIXES / "usual.hpp.gch").exists()


def test_prefix_has_only_includes_of_the_header():
    sets = headers.PREFIX_SETS
    assert headers.prefix_for(frozenset(sets["usual"])) == "usual"
    assert headers.prefix_for(frozenset(sets["usual"]) - {"span"}) is None
    assert headers.prefix_for(frozenset(sets["waiting"]) | {"list"}) == "waiting"


def test_only_the_wheel_with_a_header_counts():
    wheels = "mpich==5.0.2\nmpich-more==1\npytest==9.2.0\n"
    assert headers.pinned(wheels, "mpich") == "mpich==5.0.2"
    assert headers.pinned("pytest==9.2.0\n", "mpich") == ""
