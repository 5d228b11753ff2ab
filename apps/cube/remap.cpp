// SPDX-License-Identifier: Apache-2.0
#include "cube/remap.hpp"

#include <forebay/output_stream.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
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
constexpr std::uint64_t kBufferBytesMax = 4ULL << 20U;
constexpr std::uint64_t kBufferBytesMin = 64ULL << 10U;
/// Buffers that are being written while each thread fills one: a row that is computed takes ten
/// times as long as one that is copied, and with two of them there is always one that waits.
constexpr unsigned kBuffersUnderWay = 8;

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
  Remapping(const RemapOptions& options, const Profile& profile, RemapTeam& team)
      : options_(options), profile_(profile), team_(team) {}

  Status plan() {
    if (team_.size() > 1 && options_.packing_level) {
      return failure({.kind = ErrorClass::kUnsupported,
                      .operation = "remap",
                      .path = options_.output,
                      .cause = "compressed rows are placed by one process: leave out the ranks"});
    }
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
    const std::uint64_t chunk_bytes = chunk_bytes_wanted();
    const auto prepared = open_stream(chunk_bytes);
    if (const Status ready = team_.agree(prepared); !ready) return refuse(ready);
    const Status written = options_.packing_level ? write_packed() : write_plain(chunk_bytes);
    if (!written) return refuse(written);
    return stream_->report();
  }

  const RemapSource& source() const { return *source_; }
  const std::vector<RemapMetric>& metrics() const { return metrics_; }

 private:
  // Ranks share blocks of 4 KiB at their borders, which only the page cache puts together.
  Status open_stream(std::uint64_t chunk_bytes) {
    auto settings = options_from_environment();
    if (!settings) return refuse(settings);
    runtime_ = std::make_unique<Runtime>(std::move(*settings));
    StreamPlan plan{.buffer_bytes = buffer_bytes(chunk_bytes),
                    .buffers = options_.threads + kBuffersUnderWay};
    if (team_.size() > 1) plan.access = Access::kBuffered;
    if (team_.rank() > 0) plan.preallocation = Preallocation::kNone;
    auto stream = runtime_->output_stream(plan);
    if (!stream) return refuse(stream);
    stream_.emplace(std::move(*stream));
    return {};
  }

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

  Status write_plain(std::uint64_t chunk_bytes) {
    const std::uint64_t locations = profile_.anchor().location_count();
    RemapLayout layout = plan_layout(metrics_, locations, frame_);
    const auto all = plan_chunks(metrics_, locations, chunk_bytes);
    const auto chunks = part_of(all);
    if (const Status created = create(layout.file_bytes); !created) return created;
    if (team_.rank() > 0) layout.frame.clear();
    command::Progress progress(options_.progress,
                               {"writing " + options_.output, "bytes", bytes_of(layout, chunks)});
    RemapWriter writer(*source_, metrics_, {*stream_, *file_, progress}, options_.threads);
    return publish(writer.write_plain(layout, chunks));
  }

  Status write_packed() {
    if (const Status created = create(0); !created) return created;
    command::Progress progress(options_.progress,
                               {"compressing " + options_.output, "bytes", all_row_bytes()});
    RemapWriter writer(*source_, metrics_, {*stream_, *file_, progress}, options_.threads);
    return publish(writer.write_packed(frame_, *options_.packing_level, options_.cache_bytes));
  }

  /// This rank's chunks: those of a range of call paths.
  std::span<const RowChunk> part_of(const std::vector<RowChunk>& chunks) const {
    const std::size_t begin = chunks.size() * team_.rank() / team_.size();
    const std::size_t end = chunks.size() * (team_.rank() + 1) / team_.size();
    return std::span(chunks).subspan(begin, end - begin);
  }

  static std::uint64_t bytes_of(const RemapLayout& layout, std::span<const RowChunk> chunks) {
    std::uint64_t sum = 0;
    for (const Piece& piece : layout.frame)
      sum += piece.bytes.size();
    for (const RowChunk& chunk : chunks)
      sum += layout.rows[chunk.metric]->row_bytes * chunk.count;
    return sum;
  }

  /// Rank 0 makes the file, and the others join in before a byte of it is written: so none of them
  /// takes a size for its end that is not.
  Status create(std::uint64_t expected_bytes) {
    Status mine;
    if (team_.rank() == 0) {
      mine = open_file(options_.output, {.expected_bytes = expected_bytes,
                                         .publication = Publication::kWhenComplete});
    }
    if (const Status made = team_.agree(mine); !made) return made;
    if (team_.rank() > 0) {
      mine = open_file(options_.output + ".tmp", {.existing = Existing::kKeep});
    }
    return team_.agree(mine);
  }

  Status open_file(const std::string& path, const CreateOptions& how) {
    auto file = stream_->create(path, how);
    if (!file) return refuse(file);
    file_.emplace(std::move(*file));
    return {};
  }

  /// Rank 0 publishes what all have brought to storage.
  Status publish(Status written) {
    if (written && team_.rank() > 0) written = file_->sync();
    if (const Status complete = team_.agree(written); !complete) return complete;
    return team_.agree(team_.rank() == 0 ? file_->publish() : Status());
  }

  const RemapOptions& options_;
  const Profile& profile_;
  RemapTeam& team_;
  std::unique_ptr<RemapSource> source_;
  std::vector<RemapMetric> metrics_;
  RemapFrame frame_;
  // In this order, so that the Runtime goes last.
  std::unique_ptr<Runtime> runtime_;
  std::optional<OutputStream> stream_;
  std::optional<OutputFile> file_;
};

}  // namespace

Result<Json> remap(const RemapOptions& options, RemapTeam& team) {
  const auto start = std::chrono::steady_clock::now();
  const auto profile = open_profile(options.input);
  const Status opened = team.agree(profile ? Status() : Status(refuse(profile)));
  if (!opened) return refuse(opened);
  Remapping remapping(options, *profile, team);
  if (const Status planned = team.agree(remapping.plan()); !planned) return refuse(planned);
  const auto stream = remapping.write();
  if (!stream) return refuse(stream);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const std::uint64_t file_bytes = std::filesystem::file_size(options.output);
  Json report = to_json(remapping.source(), remapping.metrics());
  report["profile"]["path"] = options.output;
  report["profile"]["file_bytes"] = file_bytes;
  report["ranks"] = team.size();
  report["threads"] = options.threads;
  report["seconds"] = elapsed.count();
  report["bytes_per_s"] = static_cast<double>(file_bytes) / elapsed.count();
  report["stream"] = to_json(*stream);
  return report;
}

}  // namespace forebay::cube
