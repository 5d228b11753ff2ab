// SPDX-License-Identifier: Apache-2.0
// What a mount of emufs tells of itself to a benchmark that runs on it: the machine that it plays,
// and what its servers did. Through extended attributes, as docs/guides/emufs.md describes.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace forebay::bench::read {

class EmulatedStorage {
 public:
  /// The one that a folder lies in; nothing if it lies in none.
  static std::optional<EmulatedStorage> around(const std::filesystem::path& folder);

  /// What servers did is counted from 0 again.
  Status count_anew() const;

  /// {"servers": [...], "metadata": [...]}: a row for each server, as `forebay emufs stat` has
  /// them.
  Result<nlohmann::json> counts() const;

  struct Limit {
    std::string machine;  ///< its name
    double mb_per_s = 0;  ///< what no reader gets more of; infinite where nothing limits
  };
  Result<Limit> limit() const;

 private:
  explicit EmulatedStorage(std::filesystem::path root) : root_(std::move(root)) {}
  Result<nlohmann::json> document(const std::string& attribute) const;
  Result<nlohmann::json> rows(const std::string& kind, std::size_t count) const;

  std::filesystem::path root_;  // where the mount tells of itself
};

}  // namespace forebay::bench::read
