# SPDX-License-Identifier: Apache-2.0
"""Each rule about text finds its violation, and nothing in a file without one."""

import pytest

from tidy import text

# Built from parts, so that the rules do not match this file.
MACHINE_FOLDER = "/ho" + "me/user/data"
TODO = "TO" + "DO"


def places(findings):
    return [(finding.path, finding.line) for finding in findings]


def test_a_good_project_has_no_findings(make_tree, head):
    good = "namespace forebay {\nint one() { return 1; }\n}\n"
    script = f"#!/bin/sh\n# {text.SPDX}\n# A script that follows the style.\n"
    tree = make_tree({"src/base/a.cpp": head + good, "scripts/a": script, "README.md": "x" * 200})
    rules = [one for name, one in vars(text).items() if name.startswith("check_")]
    assert len(rules) == 9
    for rule in rules:
        assert rule(tree) == []


def test_a_file_over_the_limit_is_found(make_tree):
    over = {"src/base/a.cpp": text.FILE_LINES_MAX, "src/base/a_test.cpp": text.TEST_FILE_LINES_MAX}
    over["examples/a.cpp"] = text.EXAMPLE_LINES_MAX
    tree = make_tree({path: "\n" * (limit + 1) for path, limit in over.items()})
    assert {path for path, _ in places(text.check_file_length(tree))} == set(over)


def test_a_file_at_the_limit_is_allowed(make_tree):
    at = {"src/base/a.cpp": text.FILE_LINES_MAX, "tests/a.py": text.TEST_FILE_LINES_MAX}
    tree = make_tree({path: "\n" * limit for path, limit in at.items()})
    assert text.check_file_length(tree) == []


@pytest.mark.parametrize(
    "head, end",
    [
        ("TEST(A, b) {", "}"),
        ("  void f(int a) const {", "  }"),
        ("  const auto f = [&](int) {", "  };"),
    ],
)
def test_a_long_test_is_found_where_it_begins(make_tree, head, end):
    body = ["    use();"] * (text.FUNCTION_LINES_MAX + 1)
    long, short = ("\n".join(["", head, *lines, end, ""]) for lines in (body, body[1:]))
    files = {"src/base/a_test.cpp": long, "tests/b.cpp": short, "src/base/c.cpp": long}
    assert places(text.check_test_functions(make_tree(files))) == [("src/base/a_test.cpp", 2)]


def test_long_types_and_namespaces_are_not_long_tests(make_tree):
    body = "\n".join(["  int a;"] * (text.FUNCTION_LINES_MAX + 1))
    types = f"namespace a {{\n{body}\n}}\nclass B : public C(D) {{\n{body}\n}};\n"
    assert text.check_test_functions(make_tree({"src/base/a_test.cpp": types})) == []


def test_a_long_line_is_found_at_its_line(make_tree):
    tree = make_tree({"src/base/a.hpp": f"//\n{'x' * 101}\n{'y' * 100}\n"})
    assert places(text.check_line_length(tree)) == [("src/base/a.hpp", 2)]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("src/base/a.cpp", "// A file with a purpose but without the license.\n"),
        ("src/base/a.cpp", "// SPDX-License-Identifier: Apache-2.0\n#include <vector>\n"),
        ("src/base/a.cpp", "// SPDX-License-Identifier: Apache-2.0\n// Short.\n"),
        ("scripts/a", "#!/bin/sh\n# A script with a comment but no license.\n"),
        ("python/a.py", '"""A module with a docstring but no license."""\n'),
        ("python/a.py", "# SPDX-License-Identifier: Apache-2.0\nimport os\n"),
        ("cmake/a.cmake", "# SPDX-License-Identifier: Apache-2.0\nmessage(STATUS hello)\n"),
    ],
)
def test_a_file_without_its_head_is_found(make_tree, path, content):
    assert len(text.check_heads(make_tree({path: content}))) == 1


def test_header_states_the_purpose_of_its_source_and_test(make_tree, head):
    spdx = f"// {text.SPDX}\n"
    sources = dict.fromkeys(["src/base/a.cpp", "src/base/a_test.cpp", "src/base/b.cpp"], spdx)
    headers = {"src/base/a.hpp": head, "include/forebay/b.hpp": head}
    assert text.check_heads(make_tree(sources | headers)) == []


def test_a_docstring_or_a_block_comment_is_a_head(make_tree):
    spdx = "SPDX-License-Identifier: Apache-2.0"
    python = f'# {spdx}\n"""A module that states its purpose.\n\nAnd why.\n"""\n'
    block = f"// {spdx}\n/* A file that states its purpose,\n   over two lines. */\n"
    assert text.check_heads(make_tree({"a.py": python, "src/base/a.cpp": block})) == []


@pytest.mark.parametrize(
    "path", ["src/base/utils.hpp", "python/string_helpers.py", "src/manager/a.cpp", "a/Util.md"]
)
def test_name_without_meaning_is_found(make_tree, path):
    assert len(text.check_names(make_tree({path: ""}))) == 1


def test_a_name_that_only_contains_a_banned_word_is_allowed(make_tree):
    assert text.check_names(make_tree({"src/base/utility_function.hpp": ""})) == []


def test_directory_of_one_machine_is_found(make_tree):
    files = {"docs/a.md": f"fine\nsee {MACHINE_FOLDER} there\n", "b.toml": f'x="{MACHINE_FOLDER}"'}
    tree = make_tree(files)
    assert places(text.check_machine_paths(tree)) == [("b.toml", 1), ("docs/a.md", 2)]


def test_directory_below_the_project_is_allowed(make_tree):
    tree = make_tree({"a.md": f"build{MACHINE_FOLDER} ..{MACHINE_FOLDER}"})
    assert text.check_machine_paths(tree) == []


@pytest.mark.parametrize(
    "line",
    [
        "std::abort();",
        "  ::abort ();",
        "exit(1);",
        "_exit(1);",
        "std::terminate();",
        'printf("x");',
        'std::fprintf(stderr, "x");',
        "std::cout << 1;",
        "auto& out = std::cerr;",
        'fmt::print("x");',
        'perror("open");',
    ],
)
def test_library_code_that_prints_or_ends_is_found(make_tree, line):
    tree = make_tree({"src/base/a.cpp": f"void f() {{\n{line}\n}}\n"})
    assert places(text.check_exits_and_prints(tree)) == [("src/base/a.cpp", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "// exit(1) would be wrong here",
        "/* std::cout */",
        'auto s = "abort()";',
        'auto r = R"(printf("x"))";',
        "queue.exit(1);",
        "guard->abort();",
        "Scope::exit(1);",
        "on_exit(1);",
        "snprintf(buffer, 10, format);",
        "auto n = 1'000; auto c = '\"'; auto d = 2'000;",
    ],
)
def test_text_similar_to_printing_is_allowed(make_tree, line):
    assert text.check_exits_and_prints(make_tree({"src/base/a.cpp": f"{line}\n"})) == []


def test_programs_tests_and_the_named_exceptions_may_print(make_tree):
    paths = ["apps/a/a.cpp", "src/base/a_test.cpp", *text.MAY_END_AND_PRINT]
    assert text.check_exits_and_prints(make_tree(dict.fromkeys(paths, "std::abort();\n"))) == []


@pytest.mark.parametrize(
    "code", ["void f(bool on);", "void f(int a,\n       bool on = false);", "C(const bool on);"]
)
def test_a_bool_parameter_is_found(make_tree, code):
    assert len(text.check_bool_parameters(make_tree({"src/base/a.hpp": code}))) == 1


@pytest.mark.parametrize(
    "code",
    ["bool f(int a);", "// f(bool on)", "void set(bool value);", "std::function<void(bool)> f;"],
)
def test_bool_that_is_not_a_flag_is_allowed(make_tree, code):
    assert text.check_bool_parameters(make_tree({"src/base/a.hpp": code})) == []


@pytest.mark.parametrize("note", [f"{TODO}: later", f"{TODO}(user) x", "FIX" + "ME now"])
def test_a_todo_without_a_kind_is_found(make_tree, note):
    assert len(text.check_todos(make_tree({"src/base/a.cpp": f"// {note}\n"}))) == 1


def test_a_todo_with_a_kind_is_allowed(make_tree):
    assert text.check_todos(make_tree({"src/base/a.cpp": f"// {TODO}(perf): measure\n"})) == []


def test_binary_and_ignored_files_are_skipped(make_tree, tmp_path):
    (tmp_path / "picture").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "link").symlink_to("nowhere")
    tree = make_tree({".gitignore": "/build/\n", "build/a.cpp": "abort();\n"})
    assert list(tree.texts) == [".gitignore"]
