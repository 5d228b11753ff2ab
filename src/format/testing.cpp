// SPDX-License-Identifier: Apache-2.0
#include "format/testing.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/codec.hpp"
#include "format/data_header.hpp"
#include "storage/file.hpp"

namespace forebay::format {
namespace {

/// One file of a step that is being written.
class StepFileWriter {
 public:
  StepFileWriter(storage::File& file,
                 std::uint64_t end,
                 const IndexId& id,
                 const StepMetadata& metadata)
      : file_(file), end_(end), id_(id), builder_(id, metadata) {}

  void put(const TestBlock& block, Codec codec) {
    const FieldSeed field = field_seed(step_seed(id_.dataset, id_.step), block.field.name);
    const bool is_part = block.field.kind == FieldKind::kParts;
    const BlockSeed seed =
        is_part ? part_seed(field, block.part) : array_seed(field, block.start, block.shape);
    std::vector<std::uint64_t> ends;
    const std::vector<std::byte> stored = store(block.raw, codec, ends);
    const BlockChecksums sums = checksums_of(seed, block.raw, stored, ends);
    end_ = round_up(end_, kBlockAlignmentBytes);
    must(file_.write_at(stored, end_));
    must(builder_.add_block(must(builder_.add_field(block.field)), {.part = block.part,
                                                                    .start = block.start,
                                                                    .shape = block.shape,
                                                                    .offset = end_,
                                                                    .raw_bytes = block.raw.size(),
                                                                    .stored_bytes = stored.size(),
                                                                    .codec = codec,
                                                                    .checksum = sums.checksum,
                                                                    .piece_checksums = sums.pieces,
                                                                    .piece_ends = ends}));
    end_ += stored.size();
  }
  void put(const AttributeTable& attributes) { must(builder_.add_attributes(attributes)); }
  FileEntry finish() {
    end_ = round_up(end_, kPageBytes);
    const std::vector<std::byte> index = must(builder_.encode(end_));
    must(file_.write_at(index, end_));
    end_ += index.size();
    must(file_.sync());
    return {id_.file, IndexBuilder::reference_of(index)};
  }
  std::uint64_t end() const { return end_; }
  const IndexBuilder& builder() const { return builder_; }

  template <class T>
  static T must(Result<T> result) {
    FOREBAY_ASSERT(result.has_value());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

 private:
  static std::vector<std::byte> store(std::span<const std::byte> raw,
                                      Codec codec,
                                      std::vector<std::uint64_t>& ends) {
    std::vector<std::byte> stored(raw.size());
    std::uint64_t end = 0;
    for (std::uint64_t at = 0; at < raw.size(); at += kPieceBytes) {
      const auto piece = raw.subspan(at, std::min(kPieceBytes, raw.size() - at));
      end += must(compress_piece(codec, kZstdLevelDefault, piece, std::span(stored).subspan(end)));
      ends.push_back(end);
    }
    stored.resize(end);
    return stored;
  }

  static BlockChecksums checksums_of(BlockSeed seed,
                                     std::span<const std::byte> raw,
                                     std::span<const std::byte> stored,
                                     const std::vector<std::uint64_t>& ends) {
    BlockChecksums sums;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
      const std::uint64_t piece = sums.pieces.size();
      const auto rest = raw.subspan(piece * kPieceBytes);
      const PieceBytes bytes{rest.first(std::min(kPieceBytes, rest.size())),
                             stored.subspan(begin, end - begin)};
      sums.pieces.push_back(piece_checksum(seed, piece, bytes));
      begin = end;
    }
    sums.checksum = block_checksum(seed, sums.pieces);
    return sums;
  }

  storage::File& file_;
  std::uint64_t end_;
  IndexId id_;
  IndexBuilder builder_;
};

std::unique_ptr<storage::File> create_file(const std::string& path) {
  return StepFileWriter::must(storage::open_file(path, {.intent = storage::Intent::kCreate}));
}

TestBlock make_block(const FieldDefinition& field, std::uint64_t part, Coordinates shape) {
  TestBlock block = {.field = field, .part = part, .shape = std::move(shape)};
  block.raw.resize(array_bytes(field.type, block.shape).value());
  return block;
}

template <class Number>
void fill(TestBlock& block, std::uint64_t step) {
  for (std::size_t i = 0; i * sizeof(Number) < block.raw.size(); ++i) {
    const auto value = static_cast<Number>(static_cast<double>(step * 1000 + block.part) +
                                           static_cast<double>(i) / 8);
    std::memcpy(block.raw.data() + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

TestWriter::TestWriter(std::string directory,
                       const DatasetId& dataset,
                       std::uint64_t steps_per_group)
    : directory_(std::move(directory)), steps_per_group_(steps_per_group) {
  std::filesystem::create_directories(directory_);
  write_plan(plan_create(dataset, 0));
}

StepEntry TestWriter::write_data(const TestStep& step) {
  const std::uint64_t group = steps_ / steps_per_group_;
  if (steps_++ % steps_per_group_ == 0) file_ends_.clear();
  const StepMetadata metadata = {.wall_ns = step.step, .writers = step.files, .files = step.files};
  StepEntry entry = {
      .step = step.step, .group = group, .wall_ns = step.step, .writers = step.files};
  for (std::uint32_t number = 0; number < step.files; ++number) {
    const auto file = create_file(directory_ + "/" + to_string(DataFileName{group, number}));
    StepFileWriter::must(file->write_at(encode_header({state_.dataset, {group, number}}), 0));
    const std::uint64_t begin = file_ends_.contains(number) ? file_ends_[number] : kPageBytes;
    StepFileWriter writer(*file, begin, {state_.dataset, step.step, group, number}, metadata);
    for (const TestBlock& block : step.blocks)
      if (block.file == number) writer.put(block, step.codec);
    if (step.attributes.contains(number)) writer.put(step.attributes.at(number));
    entry.files.push_back(writer.finish());
    entry.raw_bytes += writer.builder().raw_bytes();
    entry.stored_bytes += writer.builder().stored_bytes();
    file_ends_[number] = writer.end();
  }
  return entry;
}

void TestWriter::write(const TestStep& step) { commit(write_data(step)); }

void TestWriter::commit(const StepEntry& entry) {
  write_plan(StepFileWriter::must(plan_commit(state_, entry, entry.step)));
}

void TestWriter::drop_before(std::uint64_t first_step) {
  write_plan(StepFileWriter::must(plan_drop(state_, first_step, 0)));
}

void TestWriter::write_plan(const CommitPlan& plan) {
  const auto file = create_file(directory_ + "/" + std::string(kCommitsName));
  for (const CommitWrite& write : plan.writes)
    StepFileWriter::must(file->write_at(write.bytes, write.offset));
  StepFileWriter::must(file->sync());
  state_ = plan.new_state;
}

DatasetId test_dataset_id() {
  DatasetId id;
  for (std::size_t i = 0; i < id.size(); ++i)
    id[i] = static_cast<std::byte>(i);
  return id;
}

TestStep test_step(std::uint64_t step, std::uint64_t parts, std::uint32_t files) {
  TestStep result = {.step = step, .files = files};
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t values = part == 1 ? 0 : 100 + 37 * part;
    TestBlock pressure =
        make_block({.name = "pressure", .type = ElementType::kFloat64}, part, {values});
    TestBlock velocity = make_block(
        {.name = "velocity", .type = ElementType::kFloat32, .dimensions = 2}, part, {values, 3});
    fill<double>(pressure, step);
    fill<float>(velocity, step);
    pressure.file = velocity.file = static_cast<std::uint32_t>(part % files);
    result.blocks.push_back(std::move(pressure));
    result.blocks.push_back(std::move(velocity));
  }
  return result;
}

}  // namespace forebay::format
