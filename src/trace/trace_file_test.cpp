// SPDX-License-Identifier: Apache-2.0
// TraceWriter and TraceReader: round trips, truncation and damage at every byte, limits.
#include <map>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "storage/faulty.hpp"
#include "storage/memory_file.hpp"
#include "storage/testing.hpp"
#include "trace/trace_reader.hpp"
#include "trace/trace_writer.hpp"

namespace forebay::trace {
namespace {

using Bytes = std::vector<std::byte>;

/// All that a trace contains.
struct Content {
  std::uint64_t start_ns = 0;
  std::map<std::uint32_t, SourceInfo> sources = {};
  std::map<std::uint32_t, FileInfo> files = {};
  std::map<std::uint32_t, std::vector<TraceRecord>> records = {};
  std::map<std::uint32_t, std::uint64_t> lost = {};
  std::size_t blocks = 0;
  std::vector<Error> warnings = {};
  std::optional<Error> error = {};

  bool has_same_data(const Content& other) const {
    return start_ns == other.start_ns && sources == other.sources && files == other.files &&
           records == other.records && lost == other.lost;
  }
};

void add(Content& content, const TraceBlock& block) {
  ++content.blocks;
  if (const auto* source = std::get_if<SourceBlock>(&block)) {
    content.sources[source->number] = source->info;
  } else if (const auto* file = std::get_if<FileBlock>(&block)) {
    content.files[file->number] = file->info;
  } else {
    const auto& records = std::get<RecordsBlock>(block);
    auto& all = content.records[records.source];
    all.insert(all.end(), records.records.begin(), records.records.end());
    if (records.lost_records != 0) content.lost[records.source] += records.lost_records;
  }
}

Content read_file(std::shared_ptr<storage::File> file,
                  TraceReader::OnDamage on_damage = TraceReader::OnDamage::kFail) {
  Content content;
  auto reader = TraceReader::open(std::move(file), on_damage);
  if (!reader) {
    content.error = reader.error();
    return content;
  }
  content.start_ns = reader->start_ns();
  while (true) {
    const auto block = reader->next();
    if (!block) content.error = block.error();
    if (!block || !*block) break;
    add(content, **block);
  }
  content.warnings = reader->warnings();
  return content;
}

Content read_bytes(Bytes bytes, TraceReader::OnDamage on_damage = TraceReader::OnDamage::kFail) {
  return read_file(std::make_shared<storage::MemoryFile>("run.trace", std::move(bytes)), on_damage);
}

class TraceFile : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "run.trace"; }
  TraceWriter create() {
    auto file = storage::must_open(path(), {.intent = storage::Intent::kCreate});
    return TraceWriter::create(std::move(file), 1234).value();
  }
  Content read() { return read_file(storage::must_open(path())); }
  Bytes bytes() const { return content_of(path()); }

  /// A trace of about 500 bytes with blocks of all kinds.
  Bytes small_trace() {
    TraceWriter writer = create();
    EXPECT_TRUE(writer.add_source({.host = "a", .process = 7, .rank = 3, .thread = 8}));
    EXPECT_TRUE(writer.add_file({.path = "data", .inode = 5}));
    std::vector<TraceRecord> records;
    for (std::uint64_t i = 0; i < 12; ++i)
      records.push_back({.offset = 4096 * i, .size = 1024, .begin_ns = 1000 * i, .file = 0});
    EXPECT_TRUE(writer.append(0, records));
    EXPECT_TRUE(writer.append(0, std::span(records).first(1), 9));
    EXPECT_TRUE(writer.flush());
    return bytes();
  }

  const TemporaryDirectory directory_;
};

class RandomRecords {
 public:
  TraceRecord next(std::uint16_t file_count) {
    TraceRecord record{.offset = number(), .size = number(), .begin_ns = number()};
    record.offset = std::min(record.offset, kTraceNumberMax - record.size);
    record.duration_ns = static_cast<std::uint32_t>(random_());
    record.file = static_cast<std::uint16_t>(random_() % (file_count + 1));
    if (record.file == file_count) record.file = kFileUnknown;
    record.operation = static_cast<TraceOperation>(random_() % (kTraceOperationMax + 1));
    record.flags = static_cast<std::uint8_t>(random_() % (kFlagsAll + 1));
    return record;
  }

  std::vector<TraceRecord> next(std::size_t count, std::uint16_t file_count) {
    std::vector<TraceRecord> records(count);
    for (TraceRecord& record : records)
      record = next(file_count);
    return records;
  }

 private:
  /// Of any magnitude.
  std::uint64_t number() { return random_() >> (1 + random_() % 63); }

  std::mt19937_64 random_{1};
};

/// Adds blocks of source `i`, and the same to `written`.
void write_random(TraceWriter& writer, RandomRecords& random, std::uint32_t i, Content& written) {
  written.sources[i] = {.host = "host", .process = i, .thread = i, .program = "p\"\n\xc3\xa4"};
  written.files[i] = {.path = "file", .device = i, .size_bytes = UINT64_MAX};
  if (i == 1) {
    written.files[i].interface = kMpiInterface;
    written.files[i].view = FileView{i, 8, 16, UINT64_MAX};
  }
  EXPECT_EQ(writer.add_source(written.sources[i]).value(), i);
  EXPECT_EQ(writer.add_file(written.files[i]).value(), i);
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kBlockRecordsMax + 1}) {
    const auto records = random.next(count, static_cast<std::uint16_t>(i + 1));
    EXPECT_TRUE(writer.append(i, records, i));
    written.records[i].insert(written.records[i].end(), records.begin(), records.end());
    if (i != 0) written.lost[i] += i;
  }
}

TEST_F(TraceFile, random_records_are_read_as_written) {
  Content written{.start_ns = 1234};
  TraceWriter writer = create();
  RandomRecords random;
  for (std::uint32_t i = 0; i < 3; ++i)
    write_random(writer, random, i, written);
  ASSERT_TRUE(writer.flush());
  const Content content = read();
  EXPECT_FALSE(content.error) << content.error->message();
  EXPECT_TRUE(content.warnings.empty());
  EXPECT_TRUE(content.has_same_data(written));
}

TEST_F(TraceFile, regular_accesses_take_less_than_a_byte_for_each_record) {
  TraceWriter writer = create();
  ASSERT_TRUE(writer.add_source({}));
  std::vector<TraceRecord> records(kBlockRecordsMax);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = {.offset = i * 4096, .size = 1024, .begin_ns = i * 1000};
  ASSERT_TRUE(writer.append(0, records));
  ASSERT_TRUE(writer.flush());
  EXPECT_LT(bytes().size(), records.size());
}

TEST_F(TraceFile, thousand_sources_are_read_as_written) {
  TraceWriter writer = create();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(writer.add_source({.process = i, .rank = i}).value(), i);
    const TraceRecord record{.offset = i};
    ASSERT_TRUE(writer.append(i, std::span(&record, 1)));
  }
  ASSERT_TRUE(writer.flush());
  const Content content = read();
  ASSERT_EQ(content.sources.size(), 1000U);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(content.sources.at(i).rank, i);
    EXPECT_EQ(content.records.at(i).at(0).offset, i);
  }
}

TEST_F(TraceFile, lost_records_without_records_are_read) {
  TraceWriter writer = create();
  ASSERT_TRUE(writer.add_source({}));
  ASSERT_TRUE(writer.append(0, {}, 5));
  ASSERT_TRUE(writer.append(0, {}, UINT64_MAX));
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(read().lost.at(0), std::uint64_t{5} + UINT32_MAX);
}

TEST_F(TraceFile, texts_that_are_long_or_not_unicode_are_cut_and_replaced) {
  TraceWriter writer = create();
  ASSERT_TRUE(writer.add_file({.path = "a\xff"}));
  ASSERT_TRUE(writer.add_file({.path = std::string(100'000, '\1')}));
  ASSERT_TRUE(
      writer.add_source({.host = std::string(9000, '\1'), .program = std::string(9000, '\xff')}));
  ASSERT_TRUE(writer.flush());
  const Content content = read();
  EXPECT_FALSE(content.error);
  EXPECT_EQ(content.files.at(0).path, "a\xef\xbf\xbd");
  EXPECT_EQ(content.files.at(1).path, std::string(4096, '\1'));
}

TEST_F(TraceFile, truncation_at_every_byte_keeps_all_complete_blocks) {
  const Bytes bytes = small_trace();
  const Content all = read_bytes(bytes);
  ASSERT_EQ(all.blocks, 4U);
  ASSERT_EQ(all.records.at(0).size(), 13U);
  std::size_t blocks = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Content content =
        read_bytes(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    if (size < sizeof(TraceHeader)) {
      EXPECT_EQ(content.error->kind(), ErrorClass::kShortFile) << size;
      continue;
    }
    EXPECT_FALSE(content.error) << size << content.error->message();
    EXPECT_GE(content.blocks, blocks);
    // A file without a warning ends between two blocks.
    if (content.warnings.empty()) {
      EXPECT_TRUE(content.blocks == blocks + 1 || size == sizeof(TraceHeader)) << size;
      blocks = content.blocks;
    } else {
      EXPECT_EQ(content.blocks, blocks) << size;
      EXPECT_EQ(content.warnings.front().kind(), ErrorClass::kShortFile);
      EXPECT_LT(content.warnings.front().offset_bytes(), size);
    }
  }
  EXPECT_EQ(blocks, 3U);
}

TEST_F(TraceFile, flipped_bit_at_every_byte_is_reported_with_its_block) {
  const Bytes bytes = small_trace();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{1} << at % 8;
    const Content content = read_bytes(changed);
    ASSERT_TRUE(content.error) << at;
    EXPECT_EQ(content.error->kind(), ErrorClass::kDamage) << at;
    EXPECT_EQ(content.error->path(), "run.trace");
    EXPECT_LE(content.error->offset_bytes(), at);
  }
}

TEST_F(TraceFile, recovery_skips_the_block_of_a_flipped_bit) {
  const Bytes bytes = small_trace();
  for (std::size_t at = sizeof(TraceHeader); at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{1} << at % 8;
    const Content content = read_bytes(changed, TraceReader::OnDamage::kRecover);
    EXPECT_FALSE(content.error) << at;
    EXPECT_EQ(content.blocks, 3U) << at;
    ASSERT_EQ(content.warnings.size(), 1U) << at;
    EXPECT_EQ(content.warnings[0].kind(), ErrorClass::kDamage);
  }
}

TEST_F(TraceFile, recovery_finds_a_header_across_windows_of_the_search) {
  const Bytes bytes = small_trace();
  const std::ptrdiff_t begin = sizeof(TraceHeader);
  for (std::size_t gap = 65'536 - 45; gap < 65'536 + 5; ++gap) {
    Bytes changed(bytes.begin(), bytes.begin() + begin);
    changed.resize(changed.size() + gap, std::byte{'F'});
    changed.insert(changed.end(), bytes.begin() + begin, bytes.end());
    const Content content = read_bytes(changed, TraceReader::OnDamage::kRecover);
    EXPECT_EQ(content.blocks, 4U) << gap;
  }
}

TEST_F(TraceFile, recovery_of_damage_without_a_later_block_ends) {
  Bytes bytes = small_trace();
  bytes.resize(bytes.size() + 200'000);
  const Content content = read_bytes(bytes, TraceReader::OnDamage::kRecover);
  EXPECT_EQ(content.blocks, 4U);
  EXPECT_EQ(content.warnings.size(), 1U);
  EXPECT_EQ(read_bytes(bytes).error->kind(), ErrorClass::kDamage);
}

TEST_F(TraceFile, damage_is_reported_by_every_call) {
  Bytes bytes = small_trace();
  bytes[40] ^= std::byte{1};
  auto reader = TraceReader::open(std::make_shared<storage::MemoryFile>("t", bytes)).value();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(error_class(reader.next()), ErrorClass::kDamage);
}

TEST_F(TraceFile, foreign_and_newer_files_are_refused) {
  const Bytes foreign(100, std::byte{'x'});
  EXPECT_EQ(read_bytes(foreign).error->kind(), ErrorClass::kDamage);
  EXPECT_EQ(read_bytes({std::byte{'x'}}).error->kind(), ErrorClass::kDamage);
  EXPECT_EQ(read_bytes({}).error->kind(), ErrorClass::kShortFile);
  EXPECT_TRUE(message_contains(*read_bytes(foreign).error, "it is not a trace"));
  TraceHeader newer{.version = 2, .start_ns = 1, .checksum = 0x29004225553fc144};
  const auto bytes = std::as_bytes(std::span(&newer, 1));
  EXPECT_EQ(read_bytes({bytes.begin(), bytes.end()}).error->kind(), ErrorClass::kUnsupported);
  newer.start_ns = 2;
  EXPECT_EQ(read_bytes({bytes.begin(), bytes.end()}).error->kind(), ErrorClass::kDamage);
}

TEST_F(TraceFile, read_error_is_passed_on_and_not_skipped) {
  auto file = std::make_unique<storage::MemoryFile>("t", small_trace());
  const auto broken = std::make_shared<storage::FaultyFile>(std::move(file),
                                                            storage::FileFaults{.bad_offset = 100});
  EXPECT_EQ(read_file(broken, TraceReader::OnDamage::kRecover).error->kind(), ErrorClass::kIo);
}

/// A block whose checksums are valid.
Bytes with_block(BlockHeader header, std::span<const std::byte> raw) {
  const TraceHeader start = make_trace_header(0);
  const auto start_bytes = std::as_bytes(std::span(&start, 1));
  Bytes bytes(start_bytes.begin(), start_bytes.end());
  append_block({.kind = BlockKind::kSource}, std::as_bytes(std::span("{}", 2)), bytes);
  append_block(header, raw, bytes);
  return bytes;
}

TEST_F(TraceFile, block_with_valid_checksums_beyond_a_limit_is_damage) {
  const auto expect_damage = [](const BlockHeader& header, std::span<const std::byte> raw) {
    const Content content = read_bytes(with_block(header, raw));
    ASSERT_TRUE(content.error);
    EXPECT_EQ(content.error->kind(), ErrorClass::kDamage);
    EXPECT_EQ(content.error->offset_bytes(), sizeof(TraceHeader) + sizeof(BlockHeader) + 2);
  };
  const auto json = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const Bytes record(sizeof(TraceRecord));
  expect_damage({.records = 2}, record);
  expect_damage({.records = 1, .source = 1}, record);
  expect_damage({.records = 1}, record);  // of file 0, which has no block
  expect_damage({.kind = BlockKind::kSource}, json("{}"));
  expect_damage({.kind = BlockKind::kSource, .source = 2}, json("{}"));
  expect_damage({.kind = BlockKind::kSource, .source = kSourcesMax}, json("{}"));
  expect_damage({.kind = BlockKind::kFile, .file_or_lost = 1}, json("{}"));
  expect_damage({.kind = BlockKind::kFile, .file_or_lost = kFilesMax}, json("{}"));
  expect_damage({.kind = BlockKind::kFile, .records = 1}, json("{}"));
  expect_damage({.kind = BlockKind::kFile}, json("[]"));
  expect_damage({.kind = BlockKind::kFile}, json(""));
  expect_damage({.kind = BlockKind::kFile}, json(R"({"path":1})"));
  expect_damage({.kind = BlockKind::kFile}, json(R"({"interface":1})"));
  expect_damage({.kind = BlockKind::kFile}, json(R"({"view":8})"));
  expect_damage({.kind = BlockKind::kFile}, json(R"({"view":{"etype_bytes":-1}})"));
  expect_damage({.kind = BlockKind::kSource, .source = 1}, json(R"({"rank":4294967296})"));
  expect_damage({.kind = BlockKind::kFile}, Bytes(kJsonBytesMax + 1));
  expect_damage({.kind = BlockKind{7}}, {});
  for (const std::size_t at : {7U, 15U, 23U, 30U, 31U}) {
    Bytes beyond(sizeof(TraceRecord));
    beyond[at] = std::byte{0xff};
    beyond[28] = beyond[29] = std::byte{0xff};
    expect_damage({.records = 1}, beyond);
  }
}

TEST_F(TraceFile, invalid_records_are_refused_and_nothing_is_written) {
  TraceWriter writer = create();
  ASSERT_TRUE(writer.add_source({}));
  ASSERT_TRUE(writer.flush());
  const Bytes before = bytes();
  const auto expect_refused = [&](std::uint32_t source, const TraceRecord& record) {
    EXPECT_EQ(error_class(writer.append(source, std::span(&record, 1))),
              ErrorClass::kInvalidArgument);
  };
  expect_refused(1, {});
  expect_refused(0, {.file = 0});
  expect_refused(0, {.offset = kTraceNumberMax, .size = 1});
  expect_refused(0, {.size = kTraceNumberMax + 1});
  expect_refused(0, {.begin_ns = kTraceNumberMax + 1});
  expect_refused(0, {.operation = TraceOperation{6}});
  expect_refused(0, {.flags = 32});
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(bytes(), before);
}

TEST_F(TraceFile, file_with_content_is_not_overwritten) {
  storage::write_pattern_file(path(), 10);
  auto file = storage::must_open(path(), {.intent = storage::Intent::kWrite});
  EXPECT_EQ(error_class(TraceWriter::create(std::move(file), 0)), ErrorClass::kExists);
}

TEST_F(TraceFile, failed_write_ends_the_trace_after_the_last_flush) {
  auto file = std::make_unique<storage::FaultyFile>(
      storage::must_open(path(), {.intent = storage::Intent::kCreate}),
      storage::FileFaults{.bad_offset = 200});
  TraceWriter writer = TraceWriter::create(std::move(file), 0).value();
  ASSERT_TRUE(writer.add_source({}));
  ASSERT_TRUE(writer.flush());
  const Bytes before = bytes();
  ASSERT_TRUE(writer.append(0, std::vector<TraceRecord>(9)));
  ASSERT_TRUE(writer.add_file({.path = std::string(200, 'x')}));
  EXPECT_EQ(error_class(writer.flush()), ErrorClass::kIo);
  EXPECT_EQ(error_class(writer.flush()), ErrorClass::kIo);
  EXPECT_EQ(error_class(writer.append(0, {})), ErrorClass::kIo);
  EXPECT_EQ(error_class(writer.add_source({})), ErrorClass::kIo);
  EXPECT_EQ(bytes(), before);
  EXPECT_FALSE(read().error);
}

}  // namespace
}  // namespace forebay::trace
