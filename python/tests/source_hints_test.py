# SPDX-License-Identifier: Apache-2.0
"""`forebay hints extract`: hints of the sources in tests/data/sources, single rules, and what is
left out. Nothing is compiled. src/push/source_hints_test.cpp binds the same hints to streams."""

import sys
import tomllib
from pathlib import Path

import pytest

from forebay import source_hints

SOURCES = Path(__file__).resolve().parents[2] / "tests/data/sources"
HEAD = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
"""


@pytest.fixture(autouse=True)
def packages():
    for name in ("clang.cindex", "sympy"):
        pytest.importorskip(name, reason=f"{name} is not installed: run scripts/setup test")


@pytest.fixture
def extract(tmp_path):
    """extract(function) returns the signatures of a C function, and the reasons of what they leave
    out."""

    def run(function: str, arguments=()) -> tuple[list[str], list[str]]:
        source = tmp_path / "a.c"
        source.write_text(HEAD + function)
        hints, left_out = source_hints.extract(str(source), "*", list(arguments))
        return [one["signature"] for one in hints], [one["why"] for one in left_out]

    return run


@pytest.mark.parametrize("name", ["strided", "nested", "lu", "btio"])
def test_source_has_the_hints_of_its_file(forebay, tmp_path, name):
    file = tmp_path / "a.hints"
    completed = forebay("hints", "extract", SOURCES / f"{name}.c", "-o", file)
    assert completed.code == 0, completed.err
    assert file.read_text() == (SOURCES / f"{name}.hints").read_text()


def test_loop_without_a_rule_is_reported_and_its_inner_loops_are_hints(forebay, tmp_path):
    words = ("-o", tmp_path / "a.hints", "--json", "-")
    document = forebay("hints", "extract", SOURCES / "btio.c", *words).json
    assert [one["comment"] for one in document["hints"]] == [
        "btio.c:17, read_dumps()",
        "btio.c:23, read_cells()",
        "btio.c:43, read_planes()",
    ]
    (left_out,) = document["left_out"]
    assert "c_size_2 changes with c by no known rule" in left_out["why"]
    line = (SOURCES / "btio.c").read_text().splitlines()[left_out["line"] - 1]
    assert "for (int c = 0; c < 4; c++)" in line


RULES = {
    "macro_sizeof_and_const": (
        """#define N 10
        static const long head = 64;
        void f(int fd, char* b) {
          for (int i = 0; i < N; i++) pread(fd, b, sizeof(double) * N, head + i * (N << 10));
        }""",
        "read {10 x (10240 i + 64, 80)}",
    ),
    "steps_and_directions": (
        """void f(int fd, int n, char* b) {
          for (int i = n - 1; i >= 0; i--) pread(fd, b, 8, i * 8);
          for (int i = 0; i < 100; i += 3) pread(fd, b, 8, i * 8);
          int k = 0;
          do pread(fd, b, 8, k * 8); while (++k < n);
          for (int i = 0; n != i; ++i) pread(fd, b, 8, i * 8);
        }""",
        "read {n x (-8 i + 8 n - 8, 8)}, {34 x (24 i, 8)}, {k_count x (8 i, 8)}, {n x (8 i, 8)}",
    ),
    "reads_advance_the_position_of_an_opened_file": (
        """long f(const char* name, char* b) {
          long total = 0;
          ssize_t n;
          int fd = open(name, O_RDONLY);
          read(fd, b, 64);
          while ((n = read(fd, b, 4096)) > 0) {
            total += n;
            lseek(fd, 4096, SEEK_CUR);
          }
          return total;
        }""",
        "read (0, 64), {loop_10_count x (8192 i + 64, 4096)}",
    ),
    "position_continues_behind_a_loop": (
        """void f(int fd, int n, char* b) {
          lseek(fd, 0, SEEK_SET);
          for (int i = 0; i < n; i++)
            for (int j = 0; j < 8; j++) read(fd, b, 16);
          read(fd, b, 4);
        }""",
        "read {n x {8 x (128 i + 16 j, 16)}}, (128 n, 4)",
    ),
    "position_continues_behind_the_last_seek_of_a_loop": (
        """void f(int fd, int n, char* b) {
          for (int i = 0; i < n; i++) { lseek(fd, i * 100, SEEK_SET); read(fd, b, 8); }
          read(fd, b, 4);
        }""",
        "read {n x (100 i, 8)}, (100 n - 92, 4)",
    ),
    "seek_from_the_end_is_a_parameter": (
        """void f(FILE* in, char* b) {
          fseek(in, -100, SEEK_END);
          for (int i = 0; i < 10; ++i) fread(b, 1, 10, in);
        }""",
        "read {10 x (10 i + in_end - 100, 10)}",
    ),
    "offset_advances_by_a_variable": (
        """void f(int fd, long off, long step, int n, char* b) {
          while (n-- > 0) { pread(fd, b, 16, off); off += step; }
        }""",
        "read {n x (i step + off, 16)}",
    ),
    "functions_are_entered": (
        """static int at(FILE* in, long where) { return fseek(in, where, SEEK_SET); }
        static void part(FILE* in, int i, char* b) { at(in, i * 100); fread(b, 2, 5, in); }
        void f(FILE* in, int n, char* b) { for (int i = 0; i < n; i++) part(in, i, b); }""",
        "read {n x (100 i, 10)}",
    ),
    "power_of_a_parameter": (
        """void f(int fd, int n, char* b) {
          for (int i = 0; i < n; i++) pread(fd, b, 8 * n, i * n * n * n + n * n);
        }""",
        "read {n x (i n n n + n n, 8 n)}",
    ),
    "value_that_a_loop_returns": (
        """static int last(int n) { for (int i = 0; i < n; i++) if (i * i > n) return i; }
        void f(int fd, int n, char* b) {
          int begin = last(n);
          for (int k = 0; k < 10; k++) pread(fd, b, 8, begin + k * 8);
        }""",
        "read {10 x (8 i + last, 8)}",
    ),
    "triangular_count": (
        """void f(int fd, int n, char* b) {
          for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++) pread(fd, b, 8, j * 8);
        }""",
        "read {n x {-i + n x (8 i + 8 j, 8)}}",
    ),
    "errors_leave_and_change_nothing": (
        """int f(int fd, int n, char* b) {
          if (fd < 0) return -1;
          for (int i = 0; i < n; i++) {
            if (pread(fd, b, 8, i * 8) != 8) { perror("f"); break; }
            if (b[0]) { n = 0; goto end; }
          }
        end:
          return 0;
        }""",
        "read {n x (8 i, 8)}",
    ),
    "each_opened_file_has_its_own_stream": (
        """void f(char** names, int files, int n, char* b) {
          for (int k = 0; k < files; k++) {
            FILE* in = fopen(names[k], "r");
            if (!in) continue;
            fread(b, 1, 16, in);
            for (int i = 0; i < n; i++) { fseek(in, 16 + i * 100, SEEK_SET); fread(b, 1, 10, in); }
            fclose(in);
          }
        }""",
        "read (0, 16), {n x (100 i + 16, 10)}",
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_function_has_this_signature(extract, rule):
    function, signature = RULES[rule]
    assert extract(function) == ([signature], [])


def test_names_of_variables_and_keywords_are_changed(extract):
    signatures = extract(
        "void f(int fd, int i, int x, char* b) {"
        " for (int j = 0; j < i; j++) pread(fd, b, x, j * x); }"
    )[0]
    assert signatures == ["read {i_2 x (i x_2, x_2)}"]


def test_files_of_a_loop_have_separate_hints(extract):
    signatures = extract(
        "void f(int a, int c, int n, char* b) { for (int i = 0; i < n; i++) {"
        " pread(a, b, 10, i * 10); pread(c, b, 20, i * 20); } }"
    )[0]
    assert signatures == ["read {n x (10 i, 10)}", "read {n x (20 i, 20)}"]


LEFT_OUT = {
    "index": ("pread(fd, b, 8, t[i]);", "t_i changes with i by no known rule"),
    "condition": ("if (t[i]) pread(fd, b, 8, i);", "the condition in line 6 decides about reads"),
    "else": (
        "if (t[i]) pread(fd, b, 8, i); else pread(fd, b, 8, 0);",
        "the condition in line 6 decides about reads",
    ),
    "switch": ("switch (i) { case 1: pread(fd, b, 8, i); break; }", "the condition in line 6"),
    "continue": ("if (t[i]) continue; pread(fd, b, 8, i);", "the continue in line 6 skips reads"),
    "square": ("pread(fd, b, 8, i * i);", "not linear in i"),
    "position": ("read(fd, b, i);", "fd_position changes with i by no known rule"),
    "data": ("read(fd, b, 8); lseek(fd, b[0], SEEK_CUR);", "fd_position changes with i"),
    "other_call": ("readv(fd, 0, 0);", "readv() is not supported"),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_read_without_a_rule_is_reported(extract, what):
    body, reason = LEFT_OUT[what]
    signatures, reasons = extract(
        f"void f(int fd, int n, long* t, char* b) {{\n for (int i = 0; i < n; i++) {{ {body} }} }}"
    )
    assert signatures == []
    assert any(reason in one for one in reasons), reasons


def test_read_outside_of_a_loop_is_reported(extract):
    assert extract("void f(int fd, char* b) { read(fd, b, 9); }") == (
        [],
        ["the read is not in a hint: it is not in a loop"],
    )


def test_loop_beyond_the_limits_of_a_hint_file_is_reported(extract):
    names = [f"v{number}" for number in range(17)]
    parameters = ", ".join(f"long {name}" for name in names)
    offset = " + ".join([*names, "i"])
    function = f"""void f(int fd, char* b, {parameters}) {{
      for (int i = 0; i < 9; i++) pread(fd, b, 8, {offset});
      for (int i = 0; i < 9; i++) pread(fd, b, 8, i);
    }}"""
    reasons = ["the loop is not in a hint: it has more than 16 parameters"]
    assert extract(function) == ([], reasons)


def test_recursive_call_is_reported(extract):
    function = "void f(int fd, int n, char* b) { if (n) f(fd, n - 1, b); read(fd, b, 8); }"
    assert "the call of f() is recursive, or one of too many" in extract(function)[1]


def test_number_of_followed_calls_is_bounded(extract):
    functions = ["static int f0(int fd, char* b) { return read(fd, b, 8); }"]
    for i in range(1, 7):
        calls = f"f{i - 1}(fd, b);" * 8
        functions.append(f"static int f{i}(int fd, char* b) {{ {calls} return 0; }}")
    functions.append("int main(void) { return f6(0, 0); }")
    assert any("one of too many" in one for one in extract("\n".join(functions))[1])


def test_missing_header_is_reported_and_the_rest_is_used(extract):
    function = '#include "missing.h"\nvoid f(int fd, char* b) { for (;;) read(fd, b, SIZE); }'
    signatures, reasons = extract(function, ["-DSIZE=8"])
    assert signatures == ["read {loop_6_count x (fd_position + 8 i, 8)}"]
    assert reasons == ["clang: 'missing.h' file not found"]


def test_source_without_a_hint_is_an_error_and_leaves_no_file(forebay, tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }")
    completed = forebay("hints", "extract", source, "-o", tmp_path / "a.hints")
    assert completed.code == 1
    assert "a.c has no loop for a hint" in completed.err
    assert not (tmp_path / "a.hints").exists()


def test_pattern_and_arguments_are_passed_on(forebay, tmp_path):
    source = tmp_path / "a.c"
    source.write_text(
        HEAD + "void f(int fd, char* b) { for (int i = 0; i < N; i++) pread(fd, b, 8, i * 8); }"
    )
    file = tmp_path / "a.hints"
    words = ("--path", "/d/*.bin", "-o", file, "--", "-DN=7")
    assert forebay("hints", "extract", source, *words).code == 0
    assert tomllib.loads(file.read_text())["hint"] == [
        {"file": "/d/*.bin", "signature": "read {7 x (8 i, 8)}", "parameters": []}
    ]


@pytest.mark.parametrize("package", ["clang", "sympy"])
def test_missing_package_is_an_error_that_names_it(forebay, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    completed = forebay("hints", "extract", SOURCES / "lu.c", "-o", tmp_path / "a.hints")
    assert completed.code == 1
    assert 'C sources need libclang and sympy; run pip install "forebay[hints]"' in completed.err


def test_missing_source_is_an_error(forebay, tmp_path):
    completed = forebay("hints", "extract", tmp_path / "no.c", "-o", tmp_path / "a.hints")
    assert completed.code == 1
    assert "no.c" in completed.err
