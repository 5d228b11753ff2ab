// SPDX-License-Identifier: Apache-2.0
#include "format/step_table.hpp"

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "format/decode_context.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

void append_step(const StepEntry& entry, std::vector<std::byte>& bytes) {
  std::uint64_t at = bytes.size();
  bytes.resize(at + step_record_bytes(entry.files.size()));
  const layout::Step record = {.step = entry.step,
                               .group = entry.group,
                               .wall_ns = entry.wall_ns,
                               .raw_bytes = entry.raw_bytes,
                               .stored_bytes = entry.stored_bytes,
                               .writers = entry.writers,
                               .files = checked_cast<std::uint32_t>(entry.files.size()),
                               .strategy = entry.strategy};
  layout::store(record, bytes, at);
  at += sizeof record;
  for (const FileEntry& file : entry.files) {
    FOREBAY_ASSERT(&file == entry.files.data() || (&file)[-1].file < file.file);
    layout::store(layout::File{.file = file.file, .index = file.index}, bytes, at);
    at += sizeof(layout::File);
  }
}

/// Removes records from the front of the bytes.
class StepDecoder {
 public:
  StepDecoder(std::span<const std::byte> bytes, const DecodeContext& context)
      : bytes_(bytes), context_(context) {}

  Result<StepEntry> next() {
    if (remaining_bytes() < sizeof(layout::Step))
      return context_.damage_error(offset_, "it ends inside a step");
    const auto record = layout::load<layout::Step>(bytes_, offset_);
    if (record.files == 0 || record.files > kFilesMax ||
        remaining_bytes() < step_record_bytes(record.files))
      return context_.damage_error(offset_, "step " + std::to_string(record.step) +
                                                " cannot have " + std::to_string(record.files) +
                                                " files");
    StepEntry entry = {.step = record.step,
                       .group = record.group,
                       .wall_ns = record.wall_ns,
                       .raw_bytes = record.raw_bytes,
                       .stored_bytes = record.stored_bytes,
                       .writers = record.writers,
                       .strategy = record.strategy};
    offset_ += sizeof record;
    if (Status read = read_files(record.files, entry); !read) return tl::unexpected(read.error());
    return entry;
  }
  std::uint64_t remaining_bytes() const { return bytes_.size() - offset_; }
  std::uint64_t offset() const { return offset_; }

 private:
  Status read_files(std::uint32_t count, StepEntry& entry) {
    entry.files.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto record = layout::load<layout::File>(bytes_, offset_);
      if (i > 0 && record.file <= entry.files.back().file)
        return context_.damage_error(
            offset_, "files of step " + std::to_string(entry.step) + " do not rise");
      entry.files.push_back({record.file, record.index});
      offset_ += sizeof record;
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  const DecodeContext& context_;
  std::uint64_t offset_ = 0;
};

}  // namespace

std::uint64_t step_record_bytes(std::size_t files) noexcept {
  return sizeof(layout::Step) + files * sizeof(layout::File);
}

std::uint64_t step_table_bytes(std::span<const StepEntry> steps) noexcept {
  std::uint64_t bytes = 0;
  for (const StepEntry& step : steps)
    bytes += step_record_bytes(step.files.size());
  return bytes;
}

std::vector<std::byte> encode_steps(std::span<const StepEntry> steps) {
  std::vector<std::byte> bytes;
  bytes.reserve(step_table_bytes(steps));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    FOREBAY_ASSERT(i == 0 || steps[i - 1].step < steps[i].step);
    append_step(steps[i], bytes);
  }
  return bytes;
}

Result<std::vector<StepEntry>> decode_steps(std::span<const std::byte> bytes,
                                            std::uint64_t count,
                                            const std::string& path,
                                            std::uint64_t offset) {
  const DecodeContext context = {"step table", path, offset};
  std::vector<StepEntry> steps;
  StepDecoder decoder(bytes, context);
  while (steps.size() < count) {
    const std::uint64_t at = decoder.offset();
    auto step = decoder.next();
    if (!step) return tl::unexpected(step.error());
    if (!steps.empty() && step->step <= steps.back().step)
      return context.damage_error(at, "steps do not rise");
    steps.push_back(std::move(*step));
  }
  if (decoder.remaining_bytes() != 0)
    return context.damage_error(decoder.offset(), "bytes follow its last step");
  return steps;
}

}  // namespace forebay::format
