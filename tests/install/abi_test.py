# SPDX-License-Identifier: Apache-2.0
"""The shared libraries export the public interface and nothing else, and keep it.

abi/*.symbols are the exported symbols, abi/layouts is the report on public types (abi_report.py).
After an intended change, replace them by the files in build/abi that a failed test names.
"""

import difflib
import itertools
import os
import re
from pathlib import Path

import abi_report
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = HERE / "abi"
FOUND = ROOT / "build" / "abi"
LIBRARIES = ("libforebay", "libforebay_mpi")
INTERNAL = re.compile(
    r"forebay::(bindings|comm|format|model|push|read|restore|runtime|shm|storage|stream|trace"
    r"|write)::"
)

# A function or a class of a namespace, unless all of it is inline.
FUNCTION = re.compile(
    r"(?!inline|constexpr|template|using|friend|FOREBAY_EXPORT)[A-Za-z_\[][\w:<>, &*\[\]]* \w+\("
)
CLASS = re.compile(r"class (?!FOREBAY_EXPORT)[^;]*\{$")

needs_all = pytest.mark.skipif(
    os.environ.get("FOREBAY_TEST_ALL") != "1", reason="only make test-all builds debug information"
)


def compare_with_kept(name, text):
    """Fails, with the difference, unless `text` is the content of the file in abi."""
    FOUND.mkdir(parents=True, exist_ok=True)
    found, kept = FOUND / name, KEPT / name
    found.write_text(text)
    expected = kept.read_text() if kept.exists() else ""
    difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), lineterm="", n=0)
    assert text == expected, "\n".join([*difference, f"if this is intended: cp {found} {kept}"])


def exported_symbols(run, library):
    """Type and demangled name with version of each symbol; constructors have several."""
    printed = run("nm", "-DC", "--defined-only", "--with-symbol-versions", library)
    printed = re.sub(r"(FOREBAY_PRIVATE)_[\d.]+$", r"\1", printed, flags=re.MULTILINE)
    words = {line.split(maxsplit=1)[1] for line in printed.splitlines()}
    return sorted(word for word in words if not re.fullmatch(r"A FOREBAY_\w+", word))


@pytest.mark.parametrize("library", LIBRARIES)
def test_exported_symbols_are_those_of_the_list(run, prefix, library):
    symbols = exported_symbols(run, prefix / "lib" / f"{library}.so")
    compare_with_kept(f"{library}.symbols", "\n".join(symbols) + "\n")


@pytest.mark.parametrize("library", LIBRARIES)
def test_public_symbols_are_of_public_namespaces(library):
    symbols = (KEPT / f"{library}.symbols").read_text().splitlines()
    public = [line for line in symbols if line.endswith("@@FOREBAY_1")]
    private = [line for line in symbols if line.endswith("@@FOREBAY_PRIVATE")]
    assert public
    assert sorted(public + private) == symbols
    names = [re.sub(r"\(.*", "", line.split(maxsplit=1)[1]) for line in public]
    assert [name for name in names if not is_public(name)] == []


def is_public(name):
    """True for what is in the namespace of the public headers, and for functions of C."""
    is_cpp = "forebay::" in name and not INTERNAL.search(name)
    return is_cpp or re.fullmatch(r"forebay_\w+@@FOREBAY_1", name) is not None


def test_internal_names_are_not_public():
    assert not is_public("forebay::comm::Nodes::node_of")
    assert not is_public("forebay::bindings::fail")
    assert not is_public("read_session")
    assert is_public("forebay::Session::read")
    assert is_public("forebay_session_read@@FOREBAY_1")


def unmarked_declarations(text):
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return [
        line
        for before, line in itertools.pairwise(lines)
        if (FUNCTION.match(line) or CLASS.match(line))
        and not before.startswith(("template", "  requires"))
    ]


def test_public_declarations_are_marked():
    headers = [path for path in (ROOT / "include").rglob("*.hpp") if path.name != "future_impl.hpp"]
    found = {path.name: unmarked_declarations(path.read_text()) for path in headers}
    assert len(found) > 20
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_unmarked_declaration_is_found():
    marked = "\nFOREBAY_EXPORT Error make(int a);\ninline int f() { return 1; }\nclass Name;\n"
    assert unmarked_declarations(marked + "template <class T>\nclass Value {\n") == []
    assert len(unmarked_declarations("\nstd::string name_of(Kind kind);\nclass A final {\n")) == 2


def test_type_of_a_private_header_is_not_reported(tmp_path):
    (tmp_path / "xml").write_text(
        "<abi-corpus><abi-instr><namespace-decl name='forebay'>"
        "<enum-decl name='Access' id='1'><enumerator name='kDirect' value='1'/></enum-decl>"
        "<class-decl name='Hidden' id='2' size-in-bits='64'/>"
        "<class-decl name='RuntimeCore' id='3' size-in-bits='64'/>"
        "</namespace-decl></abi-instr></abi-corpus>"
    )
    found = abi_report.report(tmp_path / "xml", ROOT / "include")
    assert found == "forebay::Access\n  1 kDirect\n"


@needs_all
def test_layouts_are_those_of_the_report(run, library_build, tmp_path):
    run("cmake", "--build", library_build, "--target", "forebay", limit_s=3000)
    library = library_build / "lib" / "libforebay.so"
    run("abidw", "--no-show-locs", "--out-file", tmp_path / "xml", library, limit_s=600)
    compare_with_kept("layouts", abi_report.report(tmp_path / "xml", ROOT / "include"))
