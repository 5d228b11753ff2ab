# SPDX-License-Identifier: Apache-2.0
"""The external programs find violations, and their cached results are valid."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tidy import programs
from tidy.tree import SourceTree

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = {name: (ROOT / name).read_text() for name in (".clang-format", ".clang-tidy")}


@pytest.fixture
def compiled(make_tree, tmp_path):
    """Returns a function that writes a file and all that clang-tidy needs to check it."""

    def plant_compiled(path, text, others=None):
        entry = {"directory": str(tmp_path), "file": str(tmp_path / path)}
        entry["command"] = f"g++ -std=c++20 -Isrc -Iinclude -c {path}"
        database = {f"{programs.BUILD}/compile_commands.json": json.dumps([entry])}
        return make_tree(SETTINGS | database | {path: text} | (others or {}))

    return plant_compiled


def rules_of(findings):
    """Returns the check names in messages of clang-tidy."""
    return [re.search(r"\[([a-z-]+)", finding.message)[1] for finding in findings]


OVERRIDES = "struct A { virtual void f(); };\nstruct B : A { void f(); };\n"
LONG = "int f(int a) {\n" + "  ++a;\n" * 71 + "  return a;\n}\n"
NESTED = "int f(int a) { if (a) { if (a > 1) { if (a > 2) { if (a > 3) { ++a; } } } } return a; }\n"


def test_clang_tidy_checks_sources_compiled_together(make_tree, tmp_path):
    together = "build/release/x.dir/Unity/unity_0_cxx.cxx"
    entry = {"directory": str(tmp_path), "file": str(tmp_path / together)}
    entry["command"] = f"g++ -std=c++20 -Isrc -c {together}"
    includes = [f'#include "{tmp_path}/src/base/{name}.cpp"\n' for name in ("a", "b")]
    texts = {
        f"{programs.BUILD}/compile_commands.json": json.dumps([entry]),
        "src/base/a.cpp": "int f() { return 1; }\n",
        "src/base/b.cpp": "int* p = 0;\n",
    }
    (tmp_path / together).parent.mkdir(parents=True)
    (tmp_path / together).write_text("\n".join(includes))
    (finding,) = programs.check_clang_tidy(make_tree(SETTINGS | texts))
    assert (finding.path, finding.line) == ("src/base/b.cpp", 1)


@pytest.mark.parametrize(
    ("code", "check"),
    [
        (LONG, "readability-function-size"),
        (NESTED, "readability-function-size"),
        ("int f(int, int, int, int, int, int) { return 1; }\n", "readability-function-size"),
        ("class bad_name {};\n", "readability-identifier-naming"),
        ("class C { int member; int f() { return member; } };\n", "readability-identifier-naming"),
        ("void BadName() {}\n", "readability-identifier-naming"),
        ("constexpr int limit = 1;\n", "readability-identifier-naming"),
        ("enum class E { one };\n", "readability-identifier-naming"),
        ("#define SOMETHING 1\n", "readability-identifier-naming"),
        ("int* p = 0;\n", "modernize-use-nullptr"),
        (OVERRIDES, "modernize-use-override"),
    ],
)
def test_clang_tidy_finds_a_violation(compiled, code, check):
    assert rules_of(programs.check_clang_tidy(compiled("src/base/a.cpp", code))) == [check]


GOOD = """
namespace forebay {
constexpr int kLimit = 70;
enum class Retire { kOnce, kCache };
struct Plan { int depth = 0; };
class Engine {
 public:
  explicit Engine(Plan plan) : plan_(plan) {}
  int queue_depth() const { return plan_.depth + kLimit; }
 private:
  Plan plan_;
};
}  // namespace forebay
"""


def test_clang_tidy_allows_the_style(compiled):
    assert programs.check_clang_tidy(compiled("src/base/a.cpp", GOOD)) == []


def test_clang_tidy_checks_project_headers(compiled):
    header = {"src/base/a.hpp": "#pragma once\nclass bad_name {};\n"}
    tree = compiled("src/base/a.cpp", '#include "base/a.hpp"\n', header)
    (finding,) = programs.check_clang_tidy(tree)
    assert (finding.path, finding.line) == ("src/base/a.hpp", 2)


def test_clang_tidy_skips_tests(compiled):
    assert programs.check_clang_tidy(compiled("src/base/a_test.cpp", NESTED)) == []
    assert len(programs.check_clang_tidy(compiled("src/base/a.cpp", NESTED))) > 0


def test_clang_tidy_without_a_database_is_a_finding(make_tree):
    (finding,) = programs.check_clang_tidy(make_tree(SETTINGS))
    assert "make build" in finding.message


def test_checkouts_share_results(compiled, tmp_path, monkeypatch):
    tree = compiled("src/a.cpp", OVERRIDES)
    first = programs.check_clang_tidy(tree)
    assert first
    other = tmp_path.parent / f"{tmp_path.name}-other"
    shutil.copytree(tmp_path, other)
    database = other / programs.BUILD / "compile_commands.json"
    database.write_text(database.read_text().replace(str(tmp_path), str(other)))
    real, commands = programs.run, []

    def counting(command, *rest):
        commands.append(command)
        return real(command, *rest)

    monkeypatch.setattr(programs, "run", counting)
    assert programs.check_clang_tidy(SourceTree(other)) == first
    assert [command for command in commands if "--quiet" in command] == []


def test_unused_result_is_removed(tmp_path):
    old, new = tmp_path / "here" / "old", tmp_path / "there" / "new"
    for cache_file in (old, new):
        cache_file.parent.mkdir()
        cache_file.write_text("[]")
    os.utime(old, (1000, 1000))
    programs.remove_unused(new.parent, 2000)
    assert [old.exists(), new.exists()] == [False, True]


def test_clang_format_finds_a_badly_formatted_line(make_tree):
    good, bad = "int f() { return 1; }\n", "int  f(){return 1;}\nint  g(){return 1;}\n"
    tree = make_tree(SETTINGS | {"src/base/good.cpp": good, "src/base/bad.cpp": bad})
    (finding,) = programs.check_clang_format(tree)
    assert finding.path == "src/base/bad.cpp"


@pytest.fixture
def python_project(make_tree):
    """Returns a function that creates a project with the ruff settings of this one."""
    settings = {"pyproject.toml": (ROOT / "pyproject.toml").read_text()}
    return lambda text: make_tree(settings | {"python/a.py": text})


def test_ruff_finds_an_unused_import(python_project):
    (finding,) = programs.check_ruff(python_project("import os\n"))
    assert (finding.path, finding.line) == ("python/a.py", 1)
    assert "F401" in finding.message


def test_ruff_finds_a_badly_formatted_line(python_project):
    assert len(programs.check_ruff_format(python_project("x = ( 1 )\n"))) == 1


def test_ruff_allows_good_python(python_project):
    tree = python_project('"""A module."""\n\nx = 1\n')
    assert programs.check_ruff(tree) + programs.check_ruff_format(tree) == []


def test_formats_can_be_rewritten(make_tree, python_project, tmp_path):
    tree = python_project("x = ( 1 )\n")
    assert programs.rewrite_formats(tree) == 0
    assert (tmp_path / "python/a.py").read_text() == "x = 1\n"
