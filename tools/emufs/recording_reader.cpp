// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/recording_reader.hpp"

#include <cerrno>

namespace forebay::emufs {

namespace {
constexpr std::size_t kBlockBytes = 4U << 20U;
}

std::uint64_t FileNumbers::number_of(std::uint64_t inode) {
  if (inode == 0) return 0;
  std::uint64_t& number = current_[inode];
  if (number == 0) number = ++last_;
  return number;
}

void FileNumbers::rewrite(Record& record) {
  if (is_creation(record.kind)) current_.erase(record.file);
  record.file = number_of(record.file);
  record.directory = number_of(record.directory);
  record.to_directory = number_of(record.to_directory);
}

Result<RecordingReader> RecordingReader::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failure(system_error({.operation = "open the recording", .path = path}, errno));
  }
  RecordingReader reader(path, std::move(file));
  reader.fill();
  if (!is_recording_header(reader.bytes_)) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read the recording",
                    .path = path,
                    .offset_bytes = 0,
                    .cause = "it is not a recording of emufs; `forebay emufs mount --record` makes "
                             "them"});
  }
  reader.is_incomplete_ = reader.bytes_[kIncompleteOffset] == kIncompleteMark;
  reader.at_ = recording_header_bytes();
  reader.offset_ = reader.at_;
  return reader;
}

/// Reads more bytes; false if there are none.
bool RecordingReader::fill() {
  bytes_.erase(0, at_);
  at_ = 0;
  const std::size_t had = bytes_.size();
  bytes_.resize(had + kBlockBytes);
  file_.read(bytes_.data() + had, static_cast<std::streamsize>(kBlockBytes));
  bytes_.resize(had + static_cast<std::size_t>(file_.gcount()));
  return bytes_.size() > had;
}

Result<std::optional<Record>> RecordingReader::next() {
  Decoded decoded = decode(std::string_view(bytes_).substr(at_));
  while (decoded.status == DecodeStatus::kTruncated && fill()) {
    decoded = decode(std::string_view(bytes_).substr(at_));
  }
  if (decoded.status == DecodeStatus::kTruncated) {
    is_truncated_ = at_ < bytes_.size();
    return std::optional<Record>{};
  }
  if (decoded.status == DecodeStatus::kCorrupt || decoded.number != number_ + 1) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "read the recording",
                    .path = path_,
                    .offset_bytes = offset_,
                    .cause = "record " + std::to_string(number_ + 1) +
                             " is damaged; those before it are good: replay with --cut " +
                             std::to_string(number_)});
  }
  at_ += decoded.bytes;
  offset_ += decoded.bytes;
  number_ = decoded.number;
  numbers_.rewrite(decoded.record);
  return std::optional<Record>(std::move(decoded.record));
}

Result<RecordingSummary> summarize(const std::string& path) {
  auto reader = RecordingReader::open(path);
  if (!reader) return failure(reader.error());
  RecordingSummary summary{.path = path};
  for (;;) {
    const auto record = reader->next();
    if (!record) return failure(record.error());
    if (!*record) break;
    ++summary.records;
    ++summary.kinds[std::string(name_of((*record)->kind))];
    if ((*record)->kind == RecordKind::kWrite) summary.bytes_written += (*record)->data.size();
  }
  summary.is_truncated = reader->is_truncated();
  summary.is_incomplete = reader->is_incomplete();
  return summary;
}

nlohmann::json to_json(const RecordingSummary& summary) {
  return {{"path", summary.path},
          {"records", summary.records},
          {"bytes_written", summary.bytes_written},
          {"kinds", summary.kinds},
          {"is_truncated", summary.is_truncated},
          {"is_incomplete", summary.is_incomplete}};
}

}  // namespace forebay::emufs
