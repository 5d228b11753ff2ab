// SPDX-License-Identifier: Apache-2.0
// Reads recordings: record by record, and what is in one altogether. A recording may end in the
// middle of a record, as after a crash; anything else that does not fit is damage.
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

/// Inode numbers are used again after a file is gone. Gives each file a number of its own.
class FileNumbers {
 public:
  /// Of records in their order.
  void rewrite(Record& record);

 private:
  std::uint64_t of(std::uint64_t inode);

  std::unordered_map<std::uint64_t, std::uint64_t> now_;
  std::uint64_t last_ = 0;
};

class RecordingReader {
 public:
  static Result<RecordingReader> open(const std::string& path);

  /// The next record, with files numbered anew; none at the end. Fails with kDamage, which names
  /// the offset.
  Result<std::optional<Record>> next();
  /// Of the record that next() gave last; the first one is 1.
  std::uint64_t number() const noexcept { return number_; }
  /// Whether the end was in the middle of a record.
  bool ends_early() const noexcept { return ends_early_; }
  /// Whether changes are missing that were made after its end.
  bool broke_off() const noexcept { return broke_off_; }

 private:
  RecordingReader(std::string path, std::ifstream file)
      : path_(std::move(path)), file_(std::move(file)) {}
  bool fill();

  std::string path_;
  std::ifstream file_;
  FileNumbers numbers_;
  std::string bytes_;         ///< read, and not yet taken
  std::size_t at_ = 0;        ///< of the next record in them
  std::uint64_t offset_ = 0;  ///< of the next record in the file
  std::uint64_t number_ = 0;
  bool ends_early_ = false;
  bool broke_off_ = false;
};

struct RecordingSummary {
  std::string path;
  std::uint64_t records = 0;
  std::uint64_t bytes_written = 0;
  std::map<std::string, std::uint64_t> kinds;  ///< by their names
  bool ends_early = false;
  bool broke_off = false;
};

Result<RecordingSummary> summarize(const std::string& path);
nlohmann::json to_json(const RecordingSummary& summary);

}  // namespace forebay::emufs
