# SPDX-License-Identifier: Apache-2.0
"""A report of the binary interface that reviewers can read: layouts of the public types.

libabigail describes all types in 35 MB of XML. The report keeps those that a public header
defines: sizes, bases, members with offsets, positions of virtual functions, enumerators.
"""

import re
from xml.etree import ElementTree

DEFINED = re.compile(
    r"^\s*(?:class|struct|enum class) (?:FOREBAY_EXPORT )?(?:\[\[\w+\]\] )?(\w+)(?![^{]*;$)\b"
)
SUFFIXES = {"pointer-type-def": "*", "reference-type-def": "&"}


def public_names(include):
    """The names of the types that the headers in `include` define."""
    texts = [path.read_text() for path in sorted(include.rglob("*.hpp"))]
    return {m[1] for text in texts for line in text.splitlines() if (m := DEFINED.match(line))}


def namespaces_of(root):
    """Pairs of a namespace, such as "forebay::detail", and an element directly in it."""
    stack = [("", child) for unit in root.iter("abi-instr") for child in unit]
    while stack:
        scope, element = stack.pop()
        if element.tag == "namespace-decl":
            inner = f"{scope}::{element.get('name')}".lstrip(":")
            stack.extend((inner, child) for child in element)
        else:
            yield scope, element


def type_names(root):
    """name_of(id): the type as C++ writes it, without namespaces of classes."""
    types = {element.get("id"): element for element in root.iter() if element.get("id")}

    def name_of(number):
        element = types[number]
        if element.get("name"):
            return element.get("name")
        if element.tag == "qualified-type-def":
            return f"const {name_of(element.get('type-id'))}"
        suffix = SUFFIXES.get(element.tag)
        return f"{name_of(element.get('type-id'))}{suffix}" if suffix else element.tag

    return name_of


def layout_of(element, name_of):
    """The lines below the name of a class, structure or enumeration."""
    if element.tag == "enum-decl":
        values = element.findall("enumerator")
        return [f"  {value.get('value')} {value.get('name')}" for value in values]
    lines = [
        f"  +{int(base.get('layout-offset-in-bits')) // 8} base {name_of(base.get('type-id'))}"
        for base in element.findall("base-class")
    ]
    for member in element.findall("data-member"):
        if member.get("static") != "yes":
            variable, offset = member.find("var-decl"), int(member.get("layout-offset-in-bits"))
            lines.append(
                f"  +{offset // 8} {variable.get('name')}: {name_of(variable.get('type-id'))}"
            )
    virtual = {
        (int(function.get("vtable-offset")), function.find("function-decl").get("name"))
        for function in element.findall("member-function")
        if int(function.get("vtable-offset", -1)) >= 0
    }
    return lines + [f"  virtual {offset} {name}" for offset, name in sorted(virtual)]


def report(xml, include):
    """The report for the output of abidw in the file `xml`."""
    root, names = ElementTree.parse(xml).getroot(), public_names(include)
    name_of, found = type_names(root), {}
    for scope, element in namespaces_of(root):
        name = element.get("name")
        is_defined = element.tag == "enum-decl" or element.get("size-in-bits")
        if scope in ("forebay", "forebay::detail") and name in names and is_defined:
            size = (
                f": {int(element.get('size-in-bits')) // 8} bytes"
                if element.tag != "enum-decl"
                else ""
            )
            found[f"{scope}::{name}{size}"] = layout_of(element, name_of)
    return "".join("\n".join([head, *found[head]]) + "\n" for head in sorted(found))
