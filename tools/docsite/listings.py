# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the C headers and of the Fortran modules, from their text.

Both follow simple rules: in C, a comment in the first column and the declaration below it; in
Fortran, types whose bindings have comments that begin with `!>`.
"""

import re
import textwrap
from pathlib import Path

from docsite import links
from docsite.headers import comment_text
from docsite.reference import Entry, Page, render

_INCLUDE = links.ROOT / "include"
_MODULES = links.ROOT / "bindings" / "fortran"
_C_NAME = re.compile(r"#define (\w+)|^\} (\w+);|typedef struct (\w+) \w+;|(\w+)\(", re.MULTILINE)
_TYPE = re.compile(
    r"((?:^ *!>.*\n)*)^ *type(?:, extends\(\w+\))? :: (\w+)\n((?:.*\n)*?)^ *end type", re.MULTILINE
)
_BINDING = re.compile(r"procedure(?!, private)[^:]*:: (\w+) => (\w+)")


def c_entries(text: str) -> list[Entry]:
    """The declarations of a header that have a comment, in their order."""
    body = re.split(r"^#define FOREBAY_\w*H$", text, maxsplit=1, flags=re.MULTILINE)[-1]
    entries = []
    for block in re.split(r"\n\n+|\n(?=/\*)", body):
        found = re.match(r"(/\*.*?\*/)\n(.+)", block.strip("\n"), re.DOTALL)
        if found is None or found[2].startswith("#include"):
            continue
        declaration = _c_declaration(found[2])
        entries.append(Entry(_name_in_c(declaration), [declaration], _c_comment(found[1])))
    return entries


def _c_declaration(text: str) -> str:
    """Without the mark of exported functions, which also shifts the lines of their arguments."""
    if text.startswith("#define"):
        return re.match(r"(?:#define .*\n?)+", text)[0].strip()
    mark = "FOREBAY_API "
    if not text.startswith(mark):
        return text.strip()
    return text.removeprefix(mark).replace("\n" + " " * len(mark), "\n").strip()


def _c_comment(comment: str) -> str:
    """Lists need an empty line before them."""
    return _lists(comment_text(comment.replace("\n   ", "\n ")))


def _lists(text: str) -> str:
    return text.replace(":\n- ", ":\n\n- ")


def _name_in_c(declaration: str) -> str:
    """The declared name; of an enumeration, that of its first enumerator."""
    if declaration.startswith("enum"):
        return re.search(r"[A-Z]\w+", declaration)[0]
    found = _C_NAME.search(declaration.replace("(*", "").replace(")(", "("))
    return next(name for name in found.groups() if name)


def fortran_entries(text: str) -> list[Entry]:
    """The public types of a module with their procedures."""
    interface = (_MODULES / "forebay.f90").read_text(encoding="utf-8")
    public = set(re.findall(r"forebay_\w+", interface)) | {"forebay_handle"}
    entries = []
    for header, name, body in _TYPE.findall(text):
        if name not in public:
            continue
        members = [
            Entry(binding[1], [_call(text, binding[1], binding[2])], _marked(comment))
            for comment, line in re.findall(r"((?:^ *!>.*\n)*)^ *(procedure.*)$", body, re.M)
            if (binding := _BINDING.match(line))
        ]
        declaration = f"type({name}) :: {name.removeprefix('forebay_')}"
        entries.append(Entry(name, [declaration], _marked(header), members))
    return entries


def _marked(text: str) -> str:
    return "\n".join(re.findall(r"^ *!> ?(.*)$", text, re.MULTILINE))


def _call(text: str, name: str, procedure: str) -> str:
    """How a program calls a bound procedure, and the declarations of its arguments."""
    found = re.search(
        rf"^ *(subroutine|\S.*function) {procedure}\(((?:[^)&]|&\n)*)\).*\n((?:.*\n){{1,20}})",
        text,
        re.MULTILINE,
    )
    words = [word for word in re.split(r"[\s,&]+", found[2]) if word and word != "self"]
    lines = []
    for line in found[3].splitlines():
        names = re.findall(r":: *([\w, ()*:.]+)", line)
        declared = re.findall(r"\w+", re.sub(r"\(.*?\)", "", names[0])) if names else []
        if line.strip().startswith("end "):
            break
        if "intent(" in line and declared and set(declared) <= set(words):
            lines.append(line.strip())
    call = f"{'call ' if found[1] == 'subroutine' else '... = '}object%{name}({', '.join(words)})"
    return "\n".join([*textwrap.wrap(call, 96, subsequent_indent="    "), *lines])


def _head_in_c(header: Path) -> str:
    comment = header.read_text(encoding="utf-8").split("*/\n", 2)[1]
    return _c_comment(f"{comment}*/")


def _pages_of_c() -> dict[str, str]:
    headers = sorted((_INCLUDE / "forebay" / "c").glob("*.h"))
    places = {"index": _INCLUDE / "forebay.h", "mpi": _INCLUDE / "forebay_mpi.h"}
    places |= {header.stem: header for header in headers}
    described = [
        Page(
            name=name,
            title="C" if name == "index" else str(header.relative_to(_INCLUDE)),
            head=_head_in_c(header),
            entries=[] if name == "index" else c_entries(header.read_text(encoding="utf-8")),
        )
        for name, header in places.items()
    ]
    return {f"reference/c/{name}.md": text for name, text in render(described, "c").items()}


def _pages_of_fortran() -> dict[str, str]:
    modules = ["handles", "sessions", "datasets"]
    texts = [(_MODULES / f"{name}.f90").read_text(encoding="utf-8") for name in modules]
    head = _lists(_marked((_MODULES / "forebay.f90").read_text(encoding="utf-8")))
    page = Page(
        name="index",
        title="Fortran",
        head=head,
        entries=[entry for text in texts for entry in fortran_entries(text)],
    )
    rendered = render([page], "fortran")
    return {f"reference/fortran/{name}.md": text for name, text in rendered.items()}


def pages() -> dict[str, str]:
    """The references of C and Fortran by place on the site."""
    return _pages_of_c() | _pages_of_fortran()
