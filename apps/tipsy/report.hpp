// SPDX-License-Identifier: Apache-2.0
// What the program prints, as JSON. README.md beside it is the contract with whoever reads that.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <nlohmann/json.hpp>

#include "tipsy/memory.hpp"
#include "tipsy/snapshot.hpp"
#include "tipsy/source.hpp"

namespace forebay::tipsy {

using Json = nlohmann::ordered_json;

Json to_json(const Snapshot& snapshot);
Json to_json(const MemoryPeaks& peaks);
/// Null for a source that has nothing to tell.
Json to_json(const std::optional<SourceReport>& report);
/// The "error" document; `class_name` replaces the name of the Error's class unless empty.
Json to_json(const Error& error, std::string_view class_name = {});

/// Text that is valid JSON whatever bytes a path has.
std::string dump(const Json& document, int indent);

}  // namespace forebay::tipsy
