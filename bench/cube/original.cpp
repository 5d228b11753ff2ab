// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/original.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "bench/frame/clock.hpp"
#include "cube/compression.hpp"
#include "cube/container_layout.hpp"
#include "cube/row_table.hpp"

namespace forebay::bench::cube {

namespace {

constexpr std::uint64_t kCopyBytes = std::uint64_t{50} << 20U;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A member of the archive to create: its name, and the file with its content.
struct ArchiveMember {
  std::string name;
  StdioTemporaryFile file;
};

class OriginalRemapper {
 public:
  OriginalRemapper(const Scheme& scheme, Conversion& conversion, std::string output)
      : scheme_(scheme),
        conversion_(conversion),
        output_(std::move(output)),
        memory_(make_row_memory(scheme.memory, row_bytes_max())),
        writer_(make_row_writer(scheme.write_mode, scheme.placement, *memory_)) {}

  Result<RemapTimes> run() {
    for (std::size_t metric = 0; metric < conversion_.metrics().size(); ++metric) {
      if (auto done = write_metric(metric); !done) return failure(done.error());
    }
    Status done = timed(times_.write_s, [&] { return writer_->finish(); });
    if (done && scheme_.compression_level) done = compress_all();
    if (done) done = assemble_archive();
    if (!done) return failure(done.error());
    return times_;
  }

 private:
  std::uint64_t row_bytes_max() const {
    std::uint64_t most = 1;
    for (std::size_t metric = 0; metric < conversion_.metrics().size(); ++metric)
      most = std::max(most, conversion_.row_bytes(metric));
    return most;
  }

  template <class Work>
  static Status timed(double& seconds, const Work& work) {
    const Stopwatch watch;
    Status done = work();
    seconds += watch.seconds();
    return done;
  }

  /// Creates a temporary file beside the output.
  Result<StdioTemporaryFile> make_file(const std::string& ending) {
    return StdioTemporaryFile::create(output_ + "." + ending);
  }

  Status write_metric(std::size_t metric);
  Status write_row(std::size_t metric, std::size_t row_number, const RowTarget& target);
  Status compress_all();
  Status compress(std::size_t metric, StdioTemporaryFile& data);
  Status assemble_archive();
  Status copy_part(forebay::cube::ArchiveLayout& layout,
                   ArchiveMember& part,
                   StdioTemporaryFile& archive);

  const Scheme scheme_;
  Conversion& conversion_;
  const std::string output_;
  const std::unique_ptr<RowMemory> memory_;
  std::deque<StdioTemporaryFile> rows_;  // for each metric: plain data, or the swap file
  // Destroyed before the files and the memory, which it may still be writing after an error.
  const std::unique_ptr<RowWriter> writer_;
  std::vector<std::byte> copy_;
  RemapTimes times_;
};

Status OriginalRemapper::write_metric(std::size_t metric) {
  const std::size_t row_count = conversion_.metrics()[metric].index.rows.size();
  auto made = make_file(std::to_string(metric) + ".rows");
  if (!made) return failure(made.error());
  rows_.push_back(std::move(*made));
  StdioTemporaryFile& file = rows_.back();
  std::uint64_t begin = 0;
  if (!scheme_.compression_level) {
    begin = forebay::cube::kPlainMagic.size();
    if (auto wrote = file.append(bytes_of(forebay::cube::kPlainMagic)); !wrote) return wrote;
    if (auto flushed = file.flush(); !flushed) return flushed;
  }
  for (std::size_t row_number = 0; row_number < row_count; ++row_number) {
    const std::uint64_t offset = begin + row_number * conversion_.row_bytes(metric);
    const Status done = write_row(metric, row_number, {&file, offset});
    if (!done) return done;
  }
  return {};
}

Status OriginalRemapper::write_row(std::size_t metric,
                                   std::size_t row_number,
                                   const RowTarget& target) {
  auto row = writer_->acquire(conversion_.row_bytes(metric));
  if (!row) return failure(row.error());
  Status done =
      timed(times_.compute_s, [&] { return conversion_.compute(metric, row_number, *row); });
  if (done) return timed(times_.write_s, [&] { return writer_->write(target, *row); });
  memory_->release(row->data());
  return done;
}

Status OriginalRemapper::compress_all() {
  for (std::size_t metric = 0; metric < rows_.size(); ++metric) {
    auto data = make_file(std::to_string(metric) + ".packed");
    if (!data) return failure(data.error());
    if (auto packed = compress(metric, *data); !packed) return packed;
    rows_[metric] = std::move(*data);
  }
  return {};
}

/// Compresses each row to a stream; writes the table before them once all sizes are known.
Status OriginalRemapper::compress(std::size_t metric, StdioTemporaryFile& data) {
  const std::size_t row_count = conversion_.metrics()[metric].index.rows.size();
  const std::uint64_t row_bytes = conversion_.row_bytes(metric);
  std::vector<std::uint64_t> sizes;
  std::uint64_t at = forebay::cube::compressed_header_bytes(row_count);
  for (std::size_t row_number = 0; row_number < row_count; ++row_number) {
    std::vector<std::byte> row(row_bytes);
    std::vector<std::byte> packed;
    Status done = rows_[metric].read(row_number * row_bytes, row);
    if (done) done = forebay::cube::deflate_row(row, *scheme_.compression_level, packed);
    if (done) done = data.write(at, packed);
    if (!done) return done;
    sizes.push_back(packed.size());
    at += packed.size();
  }
  const auto rows = forebay::cube::layout_compressed_rows(sizes);
  return data.write(0, forebay::cube::encode_row_table(rows, row_bytes));
}

/// Creates the archive: reads every temporary file back and copies it.
Status OriginalRemapper::assemble_archive() {
  auto archive = StdioTemporaryFile::create(output_);
  if (!archive) return failure(archive.error());
  copy_.resize(kCopyBytes);
  forebay::cube::ArchiveLayout layout;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto& metric = conversion_.metrics()[i];
    ArchiveMember data{forebay::cube::data_name(metric.description.id), std::move(rows_[i])};
    if (auto copied = copy_part(layout, data, *archive); !copied) return copied;
    auto file = make_file(std::to_string(i) + ".index");
    if (!file) return failure(file.error());
    ArchiveMember index{forebay::cube::index_name(metric.description.id), std::move(*file)};
    Status done = index.file.append(encode_index(metric.index));
    if (done) done = copy_part(layout, index, *archive);
    if (!done) return done;
  }
  const std::string description = conversion_.description();
  auto member = layout.append(std::string(forebay::cube::kAnchorName), description.size());
  Status done = archive->append(header_of(member).bytes);
  if (done) done = archive->append(bytes_of(description));
  if (done) done = archive->append(padding_of(member).bytes);
  if (done) done = archive->append(layout.end().bytes);
  if (done) done = archive->sync();
  if (done) archive->keep();
  return done;
}

Status OriginalRemapper::copy_part(forebay::cube::ArchiveLayout& layout,
                                   ArchiveMember& part,
                                   StdioTemporaryFile& archive) {
  const auto size = part.file.size_bytes();
  if (!size) return failure(size.error());
  const auto member = layout.append(part.name, *size);
  if (auto wrote = archive.append(header_of(member).bytes); !wrote) return wrote;
  for (std::uint64_t at = 0; at < *size; at += kCopyBytes) {
    const auto piece = std::span(copy_).first(std::min(kCopyBytes, *size - at));
    Status done = part.file.read(at, piece);
    if (done) done = archive.append(piece);
    if (!done) return done;
  }
  return archive.append(padding_of(member).bytes);
}

}  // namespace

const std::map<std::string, Scheme>& stages() {
  using enum RowWriteMode;
  using enum ThreadPlacement;
  static const std::map<std::string, Scheme> all = {
      {"original", {}},
      {"+ AIO", {.write_mode = kAio}},
      {"+ pinning", {.write_mode = kAio, .placement = kSeparateCores}},
      {"+ alignment",
       {.write_mode = kAio, .placement = kSeparateCores, .memory = RowAllocation::kAligned}},
      {"+ pool", {.write_mode = kAio, .placement = kSeparateCores, .memory = RowAllocation::kPool}},
  };
  return all;
}

Result<RemapTimes> run_original(const Scheme& scheme,
                                const std::string& input,
                                const std::string& specification,
                                const std::string& output) {
  const Stopwatch watch;
  auto conversion = Conversion::open(input, specification);
  if (!conversion) return failure(conversion.error());
  auto times = OriginalRemapper(scheme, **conversion, output).run();
  if (times) times->total_s = watch.seconds();
  return times;
}

}  // namespace forebay::bench::cube
