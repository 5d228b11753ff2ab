// SPDX-License-Identifier: Apache-2.0
// Machine files as JSON documents: all of them, or one with the source of each number. `forebay
// machine` prints these, so there is one parser of machine files.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "model/machine.hpp"

namespace forebay::machine_tool {

using Directories = std::span<const std::filesystem::path>;

/// {"folders": [...], "machines": [...]}: each machine with name, path, about and summary, or with
/// its error if its file cannot be read.
nlohmann::json list_machines(Directories directories);

/// One machine: name, path, about, summary, values [{"key", "value", "source"}], without_source
/// [keys], and its file as rewritten with all defaults.
Result<nlohmann::json> show_machine(const std::string& name_or_path, Directories directories);

}  // namespace forebay::machine_tool
