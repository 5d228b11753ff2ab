# SPDX-License-Identifier: Apache-2.0
"""Each edge that the layer table forbids is found; an allowed edge is not a finding."""

import pytest

from tidy import layers

TABLE = layers.load_table()

# Each module has one header; each test adds one file that includes it.
PROJECT = {f"src/{module}/part.hpp": "" for module in TABLE["modules"]} | {
    f"include/forebay/{header}.hpp": "" for header in TABLE["public"]["module"]
}
PROJECT["include/forebay.h"] = ""


def messages(make_tree, path, line):
    """Returns the messages of check_layers about a file of one include line."""
    findings = layers.check_layers(make_tree(PROJECT | {path: f"{line}\n"}), TABLE)
    assert all(finding.path == path for finding in findings)
    return [finding.message for finding in findings]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/base/x.cpp", '#include "storage/part.hpp"'),
        ("src/storage/x.cpp", '#include "shm/part.hpp"'),
        ("src/storage/x_test.cpp", '#include "read/part.hpp"'),
        ("src/read/x.hpp", '  #  include "runtime/part.hpp"'),
        ("src/read/x.hpp", '#include "../runtime/part.hpp"'),
        ("apps/tipsy/x.cpp", '#include "base/part.hpp"'),
        ("examples/x.cpp", '#include "runtime/part.hpp"'),
        ("interpose/posix/x.cpp", '#include "read/part.hpp"'),
        ("include/forebay/log.hpp", '#include "base/part.hpp"'),
        ("include/forebay/error.hpp", "#include <forebay/session.hpp>"),
        ("src/storage/x.cpp", "#include <forebay/session.hpp>"),
        ("src/base/x_test.cpp", "#include <forebay/runtime.hpp>"),
    ],
)
def test_edge_upwards_or_sideways_is_found(make_tree, path, line):
    assert len(messages(make_tree, path, line)) == 1


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/storage/x.cpp", '#include "base/part.hpp"'),
        ("src/storage/x.cpp", '#include "storage/part.hpp"'),
        ("src/read/x.cpp", '#include "shm/part.hpp"'),
        ("src/runtime/x.cpp", '#include "read/part.hpp"'),
        ("src/base/x.cpp", "#include <forebay/error.hpp>"),
        ("src/read/x.cpp", "#include <forebay/session.hpp>"),
        ("src/runtime/x.cpp", "#include <forebay/session.hpp>"),
        ("include/forebay/session.hpp", "#include <forebay/error.hpp>"),
        ("bench/x.cpp", '#include "shm/part.hpp"'),
        ("interpose/posix/x.cpp", '#include "trace/part.hpp"'),
        ("interpose/posix/x.cpp", '#include "base/part.hpp"'),
        ("examples/x.cpp", "#include <forebay/error.hpp>"),
        ("examples/x.c", "#include <forebay.h>"),
        ("src/base/x.cpp", '// #include "read/part.hpp"'),
        ("src/base/x.cpp", '/*\n#include "read/part.hpp"\n*/'),
    ],
)
def test_edge_downwards_is_allowed(make_tree, path, line):
    assert messages(make_tree, path, line) == []


@pytest.mark.parametrize(
    ("path", "line", "advice"),
    [
        ("src/base/x.cpp", '#include "forebay/error.hpp"', "write <forebay/error.hpp>"),
        ("examples/x.c", '#include "forebay.h"', "write <forebay.h>"),
        ("src/storage/x.cpp", "#include <base/part.hpp>", 'write "base/part.hpp"'),
        ("src/base/x.cpp", '#include "part.hpp"', 'write "base/part.hpp"'),
        ("src/base/x.cpp", '#include "nowhere.hpp"', "not a file of the project"),
        ("include/forebay/log.hpp", "#include <fmt/format.h>", "public headers may not"),
        ("include/forebay/x.hpp", "#include <vector>", "is not in layers.toml"),
        ("src/invented/x.cpp", "#include <vector>", "module invented is not in layers.toml"),
        ("elsewhere/x.cpp", "#include <vector>", "directory elsewhere is not in layers.toml"),
    ],
)
def test_wrong_form_is_found_with_advice(make_tree, path, line, advice):
    (message,) = messages(make_tree, path, line)
    assert advice in message


@pytest.mark.parametrize("header", ["vector", "cstdint", "tl/expected.hpp"])
def test_public_header_may_include_public_dependencies(make_tree, header):
    assert messages(make_tree, "include/forebay/log.hpp", f"#include <{header}>") == []


def banned(make_tree, files):
    return [finding.path for finding in layers.check_bans(make_tree(files), TABLE)]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("src/read/x.cpp", "mpi.h"),
        ("src/comm/other.cpp", "mpi.h"),
        ("include/forebay/x.hpp", "mpi.h"),
        ("src/read/x.cpp", "liburing.h"),
        ("examples/x.cpp", "liburing.h"),
        ("src/shm/x.cpp", "aio.h"),
    ],
)
def test_banned_header_elsewhere_is_found(make_tree, path, header):
    assert banned(make_tree, {path: f"#include <{header}>\n"}) == [path]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("src/comm/mpi/any.cpp", "mpi.h"),
        ("bench/x.cpp", "mpi.h"),
        ("src/storage/ring.cpp", "liburing.h"),
        ("src/storage/posix_aio.cpp", "aio.h"),
        ("bench/x.cpp", "liburing.h"),
    ],
)
def test_banned_header_in_its_place_is_allowed(make_tree, path, header):
    assert banned(make_tree, {path: f"#include <{header}>\n"}) == []


def test_banned_header_in_two_files_is_found(make_tree):
    files = {f"src/storage/{name}.cpp": "#include <liburing.h>\n" for name in ("probe", "ring")}
    assert banned(make_tree, files) == ["src/storage/ring.cpp"]


def test_table_with_a_cycle_is_refused(tmp_path, monkeypatch):
    table = tmp_path / "layers.toml"
    table.write_text('[modules]\nbase = []\nread = ["write"]\nwrite = ["read"]\n')
    monkeypatch.setattr(layers, "TABLE", table)
    with pytest.raises(ValueError, match="read may include write"):
        layers.load_table()
