// SPDX-License-Identifier: Apache-2.0
#include "cube/generate.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cube/anchor.hpp"
#include "cube/profile_layout.hpp"
#include "cube/profile_output.hpp"
#include "cube/profile_writer.hpp"

namespace forebay::cube {

namespace {

/// A size that storage writes in one or two requests.
constexpr std::uint64_t kBufferBytesMax = 8ULL << 20U;
constexpr std::uint64_t kBufferBytesMin = 64ULL << 10U;
/// Buffers that are in flight while each worker fills one.
constexpr unsigned kBuffersInFlight = 2;
/// Of compressed rows that are not written yet.
constexpr std::uint64_t kCompressedBytesMax = 128ULL << 20U;

/// Metrics with their rows. Rows are missing in the last metrics; each keeps one row or more.
std::vector<NewRows> plan_rows(const GenerateOptions& options, const Anchor& anchor) {
  const std::uint32_t call_paths = options.shape.call_paths;
  std::uint64_t missing = std::uint64_t{options.shape.metrics} * call_paths - options.rows;
  std::vector<NewRows> metrics(options.shape.metrics);
  for (std::size_t i = metrics.size(); i-- > 0;) {
    const Metric& metric = anchor.metrics[i];
    const auto cut = static_cast<std::uint32_t>(std::min<std::uint64_t>(missing, call_paths - 1));
    missing -= cut;
    const IndexFormat format = cut == 0 ? options.index : IndexFormat::kSparse;
    auto rows = synthetic_rows(anchor.call_tree, metric.kind, cut, options.seed + i);
    metrics[i] = {metric.id, anchor.row_bytes(metric), {format, options.order, std::move(rows)}};
  }
  return metrics;
}

/// Rows of all metrics.
class SyntheticRowSource final : public RowSource {
 public:
  SyntheticRowSource(const GenerateOptions& options,
                     const Anchor& anchor,
                     const NewProfile& profile)
      : order_(options.order), profile_(profile) {
    for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
      values_.emplace_back(anchor, i, options.seed);
      indices_.push_back(anchor.call_tree.call_paths_by_row(anchor.metrics[i].kind));
    }
  }

  Status fill(const RowChunk& chunk, std::span<std::byte> into, unsigned /*thread*/) override {
    const NewRows& metric = profile_.metrics[chunk.metric];
    for (std::uint64_t i = 0; i < chunk.count; ++i) {
      const std::uint32_t index = indices_[chunk.metric][metric.index.rows[chunk.first + i]];
      values_[chunk.metric].fill(index, order_,
                                 into.subspan(i * metric.row_bytes, metric.row_bytes));
    }
    return {};
  }

 private:
  const ByteOrder order_;
  const NewProfile& profile_;
  std::vector<SyntheticValues> values_;              // by metric
  std::vector<std::vector<std::uint32_t>> indices_;  // by metric and row
};

/// Chunks in file order, for sequential writes: no row is computed from another here.
std::vector<RowChunk> chunks_in_file_order(std::span<const NewRows> metrics) {
  auto chunks = plan_chunks(metrics, kBufferBytesMax);
  std::ranges::sort(chunks, {},
                    [](const RowChunk& chunk) { return std::pair(chunk.metric, chunk.first); });
  return chunks;
}

class Generator {
 public:
  explicit Generator(const GenerateOptions& options)
      : options_(options),
        anchor_(synthetic_anchor(options.shape)),
        profile_spec_{.metrics = plan_rows(options, anchor_), .anchor = write_anchor(anchor_)},
        rows_(options, anchor_, profile_spec_),
        progress_(options.progress,
                  {"writing " + options.path, "bytes", total_row_bytes(profile_spec_.metrics)}) {}

  Status run() { return options_.compression_level ? write_compressed() : write_plain(); }

 private:
  Status write_plain() {
    const ProfileLayout layout = plan_layout(profile_spec_);
    if (const Status created = create(layout.file_bytes); !created) return created;
    return output_->publish(write_plain_rows(writer(), layout, layout.framing,
                                             chunks_in_file_order(profile_spec_.metrics)));
  }

  Status write_compressed() {
    if (const Status created = create(0); !created) return created;
    return output_->publish(write_compressed_rows(
        writer(), {*options_.compression_level, kCompressedBytesMax}, self_comm_));
  }

  Status create(std::uint64_t file_bytes) {
    auto output = ProfileOutput::create({.path = options_.path,
                                         .expected_bytes = file_bytes,
                                         .buffer_bytes = buffer_bytes(),
                                         .buffers = options_.workers + kBuffersInFlight},
                                        self_comm_);
    if (!output) return failure(output.error());
    output_ = std::move(*output);
    return {};
  }

  std::uint64_t buffer_bytes() const {
    return std::clamp(total_row_bytes(profile_spec_.metrics), kBufferBytesMin, kBufferBytesMax);
  }

  ProfileWriter writer() { return {profile_spec_, rows_, *output_, progress_, options_.workers}; }

  const GenerateOptions& options_;
  const Anchor anchor_;
  const NewProfile profile_spec_;
  SyntheticRowSource rows_;
  WriterComm self_comm_;
  command::Progress progress_;
  std::unique_ptr<ProfileOutput> output_;
};

}  // namespace

std::uint64_t default_row_count(const SyntheticOptions& shape) {
  const bool is_reference_shape = shape.metrics == 11 && shape.call_paths == 56;
  return is_reference_shape ? 614 : std::uint64_t{shape.metrics} * shape.call_paths;
}

Status generate(const GenerateOptions& options) { return Generator(options).run(); }

}  // namespace forebay::cube
