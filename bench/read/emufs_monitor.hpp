// SPDX-License-Identifier: Apache-2.0
// Reads what a mount of emufs reports to a benchmark that runs on it: the emulated machine, and the
// activity of its servers. Uses extended attributes (docs/guides/emufs.md).
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace forebay::bench::read {

class EmufsMonitor {
 public:
  /// The mount that contains a directory; empty if none does.
  static std::optional<EmufsMonitor> find(const std::filesystem::path& directory);

  /// Sets the counters of servers to 0.
  Status reset_counters() const;

  /// {"servers": [...], "metadata": [...]}: a row for each server, as in `forebay emufs stat`.
  Result<nlohmann::json> counters() const;

  struct Limit {
    std::string machine;  ///< its name
    double mb_per_s = 0;  ///< upper bound of read bandwidth; infinite without a limit
  };
  Result<Limit> limit() const;

 private:
  explicit EmufsMonitor(std::filesystem::path root) : root_(std::move(root)) {}
  Result<nlohmann::json> read_json(const std::string& attribute) const;
  Result<nlohmann::json> rows(const std::string& kind, std::size_t count) const;

  std::filesystem::path root_;  // where the attributes are
};

}  // namespace forebay::bench::read
