# SPDX-License-Identifier: Apache-2.0
"""References have what headers and commands have; links lead to places of the site."""

import re

import pytest

from docsite import commands, headers, links, listings, reference, stubs

HEADER = """// SPDX-License-Identifier: Apache-2.0
// What it is for. See docs/guides/reading.md.
#pragma once
#define FOREBAY_EXPORT
namespace forebay {
class Hidden;
/// Holds `n < 5` values of Other.
class FOREBAY_EXPORT Box {
 public:
  /// Adds one.
  void add(int value) { sum_ += value; }
  void add(const char* text);
  /// Makes a Box.
  explicit Box(int value) : sum_(value) {}
  int size = 0;  ///< number | of values

 private:
  int sum_ = 0;
};
/// The other.
struct Other {};
int uncommented();
}  // namespace forebay
"""


@pytest.fixture
def entries(tmp_path):
    header = tmp_path / "box.hpp"
    header.write_text(HEADER)
    return headers.entries_of([header])[header]


def test_documented_declarations_are_in_their_order(entries):
    assert [entry.name for entry in entries] == ["Box", "Other"]


def test_members_are_the_public_ones_and_overloads_stay_together(entries):
    members = {member.name: member.declarations for member in entries[0].members}
    assert members == {
        "add": ["void add(int value);", "void add(const char* text);"],
        "Box": ["explicit Box(int value);"],
        "size": ["int size = 0"],
    }


def test_a_comment_of_a_value_and_of_a_type_have_no_markers(entries):
    assert entries[0].comment == "Holds `n < 5` values of Other."
    assert entries[0].members[2].comment == "number | of values"


def test_a_page_links_names_and_escapes_tables(entries):
    renderer = reference.Renderer("box.md", {"Other": "other.md#Other"})
    text = renderer.entry(entries[0])
    assert "Holds `n < 5` values of [`Other`](other.md#Other)." in text
    assert r"| `int size = 0` | number \| of values |" in text


def test_a_heading_keeps_underscores_and_stars():
    entry = reference.Entry("Box", ["class Box"], "", [reference.Entry("__len__", ["x"], "Bytes.")])
    text = reference.Renderer("box.md", {}).entry(entry)
    assert "### &#95;&#95;len&#95;&#95; { #Box.len }" in text


def test_a_header_that_does_not_parse_is_an_error(tmp_path):
    header = tmp_path / "broken.hpp"
    header.write_text("/// A type.\nstruct Broken { missing_type value; };\n")
    with pytest.raises(ValueError, match="unknown type name 'missing_type'"):
        headers.entries_of([header])


def test_every_exported_class_has_a_place():
    text = "\n".join(headers.pages().values())
    sources = (links.ROOT / "include/forebay").glob("*.hpp")
    exported = {
        name
        for header in sources
        for name in re.findall(
            r"^class FOREBAY_EXPORT (?:\[\[nodiscard\]\] )?(\w+)", header.read_text(), re.M
        )
    }
    assert len(exported) > 10
    assert {name for name in exported if f"{{ #{name} }}" not in text} == set()


STUB = '''
class Step:
    """A step."""
    def __enter__(self) -> Self: ...
    def __len__(self) -> int:
        """Fields."""
    def put(self, field: str, *, part: int = 0) -> None:
        """Adds a part."""
    @property
    def number(self) -> int:
        """Its number."""
    def _private(self): ...
class _Hidden: ...
def gain(seconds: float) -> float:
    """Of overlap."""
'''


def test_entries_of_a_stub_are_its_public_part():
    step, gain = stubs.entries_of(STUB)
    members = {one.name: (one.declarations[0], one.is_value) for one in step.members}
    assert members == {
        "__len__": ("def __len__(self) -> int", False),
        "put": ("def put(self, field: str, *, part: int=0) -> None", False),
        "number": ("number: int", True),
    }
    assert (gain.comment, stubs.entries_of(STUB, {"gain"})) == ("Of overlap.", [gain])


def test_a_module_that_is_not_built_is_an_error():
    with pytest.raises(FileNotFoundError, match="run `make build`"):
        stubs.stub_of("no_such_module")


def test_pages_of_commands_have_each_option():
    pages = commands.pages()
    assert "--storage DIRECTORY" in pages["reference/commands/tune.md"]
    assert "# forebay flow generate" in pages["reference/commands/flow.md"]


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("docs/guides/mpi.md", "guides/mpi.md"),
        ("include/forebay/session.hpp", "reference/cpp/session.md"),
        ("CONTRIBUTING.md", "source/CONTRIBUTING.md"),
        ("examples", "source/examples/index.md"),
        ("examples/views.cpp", "source/examples/views.cpp.md"),
    ],
)
def test_place_of_a_file(file, place):
    assert links.place_of(file) == place


def test_links_lead_to_places_and_code_stays():
    text = "[a](../../include/forebay/log.hpp#x) [b](mpi.md)\n```\n[c](../x.md)\n```\n  - nested\n"
    new, files = links.rewrite(text, "docs/guides/reading.md")
    assert (
        new == "[a](../reference/cpp/log.md#x) [b](mpi.md)\n```\n[c](../x.md)\n```\n    - nested\n"
    )
    assert files == {"include/forebay/log.hpp", "docs/guides/mpi.md"}


def test_sources_that_sources_link_to_have_pages():
    made = links.source_pages({"docs/a.md": "[examples](../examples)"})
    assert "source/examples/views.cpp.md" in made
    assert made["source/examples/views.cpp.md"].startswith("# views.cpp\n")


def test_declarations_of_c_have_their_comments():
    text = (
        "#ifndef FOREBAY_C_X_H\n#define FOREBAY_C_X_H\n\n#include <stdint.h>\n\n"
        "/* Opens\n   it. */\nFOREBAY_API int forebay_open(int a,\n"
        "                             int b);\n\n"
        "/* Ways. */\nenum {\n  FOREBAY_A = 0, /* one */\n  FOREBAY_B = 1\n};\n"
        "int without_comment(void);\n\n/* A size. */\n#define FOREBAY_N 3\n\n#endif\n"
    )
    first, second, third = listings.c_entries(text)
    assert (first.name, first.comment) == ("forebay_open", "Opens\nit.")
    assert first.declarations == ["int forebay_open(int a,\n                 int b);"]
    assert (second.name, third.name) == ("FOREBAY_A", "FOREBAY_N")
    assert third.declarations == ["#define FOREBAY_N 3"]


def test_every_function_of_c_is_in_the_reference():
    files = [*headers.INCLUDE.glob("forebay/c/*.h"), headers.INCLUDE / "forebay_mpi.h"]
    declared = {
        name
        for header in files
        for name in re.findall(r"^FOREBAY_API [^(]*?(\w+)\(", header.read_text(), re.MULTILINE)
    }
    pages = "".join(listings.pages().values())
    assert len(declared) > 50
    assert {name for name in declared if f"{{ #{name} }}" not in pages} == set()


def test_procedures_of_fortran_have_their_arguments():
    page = listings.pages()["reference/fortran/index.md"]
    put = page.split("### put ", 1)[1].split("###", 1)[0]
    assert "call object%put(field, values" in put
    assert "type(*), intent(in)" in put
    assert "Adds a part" in put
    assert "forebay_dataset_reader" in page
