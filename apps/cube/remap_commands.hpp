// SPDX-License-Identifier: Apache-2.0
// The command `remap`, which two programs have.
#pragma once

#include <forebay/error.hpp>

#include <optional>

#include "command/cli.hpp"
#include "cube/describe.hpp"
#include "cube/remap.hpp"

namespace forebay::cube {

/// Adds --compress and --level; `level` stays empty without them.
void add_compression(CLI::App& app, std::optional<int>& level);
void add_remap(CLI::App& app, RemapOptions& options);
/// As remap(); a usage error if the options exclude each other.
Result<Json> run_remap(const RemapOptions& options, WriterComm& comm);

}  // namespace forebay::cube
