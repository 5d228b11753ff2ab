// SPDX-License-Identifier: Apache-2.0
// Reads recordings record by record, and summarizes them. A recording may end inside a record, as
// after a crash; anything else that is malformed is damage.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "tools/emufs/record.hpp"

namespace forebay::emufs {

/// Inode numbers are reused after a file is removed. Gives each file a unique number.
class FileNumbers {
 public:
  /// Pass records in their order.
  void rewrite(Record& record);

 private:
  std::uint64_t number_of(std::uint64_t inode);

  std::unordered_map<std::uint64_t, std::uint64_t> current_;
  std::uint64_t last_ = 0;
};

class RecordingReader {
 public:
  static Result<RecordingReader> open(const std::string& path);

  /// The next record, with renumbered files; none at the end. Fails with kDamage; the Error has the
  /// offset.
  Result<std::optional<Record>> next();
  /// Of the last record that next() returned; the first one is 1.
  std::uint64_t number() const noexcept { return number_; }
  /// Whether the recording ended inside a record.
  bool is_truncated() const noexcept { return is_truncated_; }
  /// Whether changes are missing that were made after its end.
  bool is_incomplete() const noexcept { return is_incomplete_; }

 private:
  RecordingReader(std::string path, std::ifstream file)
      : path_(std::move(path)), file_(std::move(file)) {}
  bool fill();

  std::string path_;
  std::ifstream file_;
  FileNumbers numbers_;
  std::string bytes_;         ///< read, and not yet decoded
  std::size_t at_ = 0;        ///< position of the next record in them
  std::uint64_t offset_ = 0;  ///< position of the next record in the file
  std::uint64_t number_ = 0;
  bool is_truncated_ = false;
  bool is_incomplete_ = false;
};

struct RecordingSummary {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t bytes_written = 0;
  std::map<std::string, std::uint64_t> kinds;  ///< by their names
  bool is_truncated = false;
  bool is_incomplete = false;
};

Result<RecordingSummary> summarize(const std::string& path);
nlohmann::json to_json(const RecordingSummary& summary);

}  // namespace forebay::emufs
