// SPDX-License-Identifier: Apache-2.0
#include "tools/model/profile_document.hpp"

#include "base/text_file.hpp"
#include "write/tuning_profile.hpp"

namespace forebay::model_tool {

namespace {

Result<write::TuningProfile> read_profile(const std::string& path) {
  return read_text_file(path, "read tuning profile", write::kTuningProfileBytesMax)
      .and_then([&](const std::string& text) { return write::parse_tuning_profile(text, path); });
}

}  // namespace

Result<nlohmann::json> show_profile(const std::string& path) {
  return read_profile(path).map([](const write::TuningProfile& profile) {
    return nlohmann::json{{"toml", to_toml(profile)}};
  });
}

Result<nlohmann::json> merge_profile(const std::string& path, const std::string& added) {
  const auto profile = write::parse_tuning_profile(added, "the added entries");
  if (!profile) return failure(profile.error());
  if (const Status status = write::update_tuning_profile(path, profile->entries); !status)
    return failure(status.error());
  return show_profile(path);
}

}  // namespace forebay::model_tool
