// SPDX-License-Identifier: Apache-2.0
// Content of a dataset as a JSON document: its steps, and fields and blocks of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command/command_result.hpp"
#include "format/catalog.hpp"

namespace forebay::dataset_tool {

using command::Json;

enum class Blocks : std::uint8_t { kCount, kList };

struct ListOptions {
  std::string path;
  std::optional<std::uint64_t> step = {};  ///< the newest if none is given
  Blocks blocks = Blocks::kCount;
};

/// Opens the files of only one step, whatever the size of the dataset. Blocks.
Result<Json> list(const ListOptions& options);

/// An Error as part of a document: class, path, offset, message.
Json damage_json(const Error& error);

}  // namespace forebay::dataset_tool
