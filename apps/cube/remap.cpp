// SPDX-License-Identifier: Apache-2.0
#include "cube/remap.hpp"

#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "cube/container.hpp"
#include "cube/profile_file.hpp"
#include "cube/remap_layout.hpp"
#include "cube/remap_report.hpp"
#include "cube/remap_writer.hpp"

namespace forebay::cube {

namespace {

/// Rows are handed over in buffers of this size: large requests, and still little memory.
constexpr std::uint64_t kBufferBytesMax = 8ULL << 20U;
constexpr std::uint64_t kBufferBytesMin = 64ULL << 10U;
/// Buffers that are being written while each thread fills one.
constexpr unsigned kBuffersUnderWay = 2;

template <class Value>
tl::unexpected<Error> refuse(const Result<Value>& failed) {
  return tl::unexpected<Error>(failed.error());
}

Result<std::string> text_of_file(const std::string& path) {
  const auto source = open_plain_source(path);
  if (!source) return refuse(source);
  std::string text((*source)->size_bytes(), '\0');
  const Status read = (*source)->read(0, std::as_writable_bytes(std::span(text)));
  if (!read) return refuse(read);
  return text;
}

/// What computes, and with what.
struct ChosenSpecification {
  cubepl::Specification specification = {};
  bool is_executed = false;
};

Result<ChosenSpecification> read_specification(const Profile& profile,
                                               const RemapOptions& options) {
  Result<std::string> text = std::string();
  std::string path = options.specification;
  const Member* const inner = profile.container().find(kSpecificationName);
  if (!path.empty()) {
    text = text_of_file(path);
  } else if (inner != nullptr && !options.ignores_inner_specification) {
    path = fmt::format("{} ({})", options.input, kSpecificationName);
    text = profile.text_of(*inner);
  } else {
    return ChosenSpecification{};
  }
  if (!text) return refuse(text);
  auto parsed = cubepl::parse_specification(*text, path);
  if (!parsed) return refuse(parsed);
  return ChosenSpecification{std::move(*parsed), true};
}

/// Members that are neither rows nor description; a specification that was executed is not carried
/// on: the measured metrics that it needs may be gone, and twice is not once.
Result<std::vector<CarriedMember>> carried_members(const Profile& profile, bool is_executed) {
  std::vector<CarriedMember> carried;
  for (const Member& member : profile.container().members) {
    const bool is_rows = member.name.ends_with(".data") || member.name.ends_with(".index");
    const bool is_spent = is_executed && member.name == kSpecificationName;
    if (is_rows || is_spent || member.name == kAnchorName || member.name == kPaddingName) continue;
    auto text = profile.text_of(member);
    if (!text) return refuse(text);
    carried.push_back({member.name, std::move(*text)});
  }
  return carried;
}

Result<std::string> new_anchor(const Profile& profile, const std::vector<RemapMetric>& metrics) {
  auto content = profile.text_of(*profile.container().find(kAnchorName));
  if (!content) return refuse(content);
  const auto text = anchor_text(std::move(*content));
  if (!text) return refuse(text);
  std::vector<Metric> descriptions;
  for (const RemapMetric& metric : metrics)
    descriptions.push_back(metric.description);
  return with_metrics(*text, descriptions);
}

class Remapping {
 public:
  Remapping(const RemapOptions& options, const Profile& profile)
      : options_(options), profile_(profile) {}

  Status plan() {
    auto chosen = read_specification(profile_, options_);
    if (!chosen) return refuse(chosen);
    auto program =
        compile_for(profile_.anchor(), std::move(chosen->specification), options_.choice);
    if (!program) return refuse(program);
    auto source = RemapSource::create(profile_, std::move(*program), options_.cache_bytes);
    if (!source) return refuse(source);
    source_ = std::move(*source);
    auto metrics = plan_metrics(source_->input(), options_.choice);
    if (!metrics) return refuse(metrics);
    metrics_ = std::move(*metrics);
    auto carried = carried_members(profile_, chosen->is_executed);
    if (!carried) return refuse(carried);
    frame_.carried = std::move(*carried);
    auto anchor = new_anchor(profile_, metrics_);
    if (!anchor) return refuse(anchor);
    frame_.anchor = std::move(*anchor);
    return {};
  }

  Result<StreamReport> write() {
    auto settings = options_from_environment();
    if (!settings) return refuse(settings);
    Runtime runtime(std::move(*settings));
    const std::uint64_t chunk_bytes = chunk_bytes_wanted();
    auto stream = runtime.output_stream({.buffer_bytes = buffer_bytes(chunk_bytes),
                                         .buffers = options_.threads + kBuffersUnderWay});
    if (!stream) return refuse(stream);
    const Status written =
        options_.packing_level ? write_packed(*stream) : write_plain(*stream, chunk_bytes);
    if (!written) return refuse(written);
    return stream->report();
  }

  const RemapSource& source() const { return *source_; }
  const std::vector<RemapMetric>& metrics() const { return metrics_; }

 private:
  std::uint64_t row_bytes_max() const {
    std::uint64_t most = 0;
    for (const RemapMetric& metric : metrics_)
      most = std::max(most, rows_shape(metric, profile_.anchor().location_count()).row_bytes);
    return most;
  }

  std::uint64_t all_row_bytes() const {
    std::uint64_t sum = 0;
    for (const RemapMetric& metric : metrics_) {
      const RowsShape shape = rows_shape(metric, profile_.anchor().location_count());
      sum += shape.row_bytes * shape.row_count;
    }
    return sum;
  }

  /// So much that the rows which all chunks of some call paths are computed from fit the cache.
  std::uint64_t chunk_bytes_wanted() const {
    std::uint64_t inputs = 0;
    for (std::size_t i = 0; i < profile_.anchor().metrics.size(); ++i) {
      const std::string& name = profile_.anchor().metrics[i].unique_name;
      const bool may_be_asked_for = source_->derivation().program().find(name).has_value();
      if (may_be_asked_for && profile_.rows(i)) ++inputs;
    }
    const bool computes = std::ranges::count(metrics_, RowOrigin::kComputed, &RemapMetric::origin);
    if (!computes || inputs == 0) return kBufferBytesMax;
    return std::min(kBufferBytesMax, options_.cache_bytes / (2 * inputs));
  }

  std::uint64_t buffer_bytes(std::uint64_t chunk_bytes) const {
    const std::uint64_t useful = std::max(kBufferBytesMin, std::min(chunk_bytes, all_row_bytes()));
    return std::max(useful, row_bytes_max());
  }

  Status write_plain(OutputStream& stream, std::uint64_t chunk_bytes) {
    const std::uint64_t locations = profile_.anchor().location_count();
    const RemapLayout layout = plan_layout(metrics_, locations, frame_);
    const auto chunks = plan_chunks(metrics_, locations, chunk_bytes);
    auto file = create(stream, layout.file_bytes);
    if (!file) return refuse(file);
    command::Progress progress(options_.progress,
                               {"writing " + options_.output, "bytes", layout.file_bytes});
    RemapWriter writer(*source_, metrics_, {stream, *file, progress}, options_.threads);
    const Status written = writer.write_plain(layout, chunks);
    return written ? file->publish() : written;
  }

  Status write_packed(OutputStream& stream) {
    auto file = create(stream, 0);
    if (!file) return refuse(file);
    command::Progress progress(options_.progress,
                               {"compressing " + options_.output, "bytes", all_row_bytes()});
    RemapWriter writer(*source_, metrics_, {stream, *file, progress}, options_.threads);
    const Status written =
        writer.write_packed(frame_, *options_.packing_level, options_.cache_bytes);
    return written ? file->publish() : written;
  }

  Result<OutputFile> create(OutputStream& stream, std::uint64_t expected_bytes) const {
    return stream.create(options_.output, {.expected_bytes = expected_bytes,
                                           .publication = Publication::kWhenComplete});
  }

  const RemapOptions& options_;
  const Profile& profile_;
  std::unique_ptr<RemapSource> source_;
  std::vector<RemapMetric> metrics_;
  RemapFrame frame_;
};

}  // namespace

Result<Json> remap(const RemapOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto profile = open_profile(options.input);
  if (!profile) return refuse(profile);
  Remapping remapping(options, *profile);
  if (const Status planned = remapping.plan(); !planned) return refuse(planned);
  const auto stream = remapping.write();
  if (!stream) return refuse(stream);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto made = open_profile(options.output);
  if (!made) return refuse(made);
  Json report = to_json(remapping.source(), remapping.metrics());
  report["profile"] = to_json(*made);
  report["threads"] = options.threads;
  report["seconds"] = elapsed.count();
  report["bytes_per_s"] = static_cast<double>(made->file_bytes()) / elapsed.count();
  report["stream"] = to_json(*stream);
  return report;
}

}  // namespace forebay::cube
