// SPDX-License-Identifier: Apache-2.0
// Tuning profiles (docs/formats/tuning-profile.md) for `forebay tune` and `forebay explain`.
#pragma once

#include <forebay/error.hpp>

#include <string>

#include <nlohmann/json.hpp>

namespace forebay::model_tool {

/// {"toml": the text of the profile in the file, without comments}. Fails, naming the line, if it
/// is not valid.
Result<nlohmann::json> show_profile(const std::string& path);

/// Merges all entries of `added`, the text of a profile, into the file `path`, which is replaced
/// atomically, or created. Returns the merged profile as show_profile() does. Fails, and leaves the
/// file unchanged, if one of them is not valid.
Result<nlohmann::json> merge_profile(const std::string& path, const std::string& added);

}  // namespace forebay::model_tool
