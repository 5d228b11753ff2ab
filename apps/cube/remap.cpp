// SPDX-License-Identifier: Apache-2.0
#include "cube/remap.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cube/container.hpp"
#include "cube/profile_file.hpp"
#include "cube/profile_output.hpp"
#include "cube/profile_writer.hpp"
#include "cube/remap_report.hpp"
#include "cube/remap_rows.hpp"

namespace forebay::cube {

namespace {

/// Rows are handed over in buffers of this size: large requests, and still little memory.
constexpr std::uint64_t kBufferBytesUsual = 4ULL << 20U;
constexpr std::uint64_t kBufferBytesMin = 64ULL << 10U;
/// Buffers that are being written while each thread fills one: a row that is computed takes ten
/// times as long as one that is copied, and with two of them there is always one that waits.
constexpr unsigned kBuffersUnderWay = 8;

template <class Value>
tl::unexpected<Error> refuse(const Result<Value>& failed) {
  return failure(failed.error());
}

Result<std::string> text_of_file(const std::string& path) {
  const auto source = open_plain_source(path);
  if (!source) return refuse(source);
  std::string text((*source)->size_bytes(), '\0');
  const Status read = (*source)->read(0, std::as_writable_bytes(std::span(text)));
  if (!read) return refuse(read);
  return text;
}

struct Input {
  std::shared_ptr<const TimedSource> source;
  Profile profile;
};

Result<Input> open_input(const std::string& path) {
  auto plain = open_plain_source(path);
  if (!plain) return refuse(plain);
  auto source = std::make_shared<const TimedSource>(std::move(*plain));
  auto profile = Profile::open(source);
  if (!profile) return refuse(profile);
  return Input{std::move(source), std::move(*profile)};
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

/// Whether it has the name of a metric's index or data.
bool is_rows(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view ending = name.substr(digits);
  return digits > 0 && (ending == ".data" || ending == ".index");
}

/// Members that are neither rows nor description; a specification that was executed is not carried
/// on: the measured metrics that it needs may be gone, and twice is not once.
Result<std::vector<CarriedMember>> carried_members(const Profile& profile, bool is_executed) {
  std::vector<CarriedMember> carried;
  for (const Member& member : profile.container().members) {
    const bool is_spent = is_executed && member.name == kSpecificationName;
    const bool is_ours = member.name == kAnchorName || member.name == kPaddingName;
    if (is_rows(member.name) || is_spent || is_ours) continue;
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

/// Blocks that were put together of parts are written whole.
std::uint64_t bytes_to_storage(const StreamReport& report) {
  constexpr std::uint64_t kBlockBytes = 4096;
  std::uint64_t bytes = report.edge_blocks * kBlockBytes;
  for (const DeviceReport& device : report.devices)
    bytes += device.bytes;
  return bytes;
}

class Remapping {
 public:
  Remapping(const RemapOptions& options, const Profile& profile, Team& team)
      : options_(options), profile_(profile), team_(team) {}

  Status plan() {
    auto chosen = read_specification(profile_, options_);
    if (!chosen) return refuse(chosen);
    const RemapChoice choice = by_name(profile_.anchor(), options_.choice);
    auto program = compile_for(profile_.anchor(), std::move(chosen->specification), choice);
    if (!program) return refuse(program);
    auto source = RemapSource::create(profile_, std::move(*program), options_.cache_bytes);
    if (!source) return refuse(source);
    source_ = std::move(*source);
    auto metrics = plan_metrics(source_->input(), choice);
    if (!metrics) return refuse(metrics);
    metrics_ = std::move(*metrics);
    list_rows();
    auto carried = carried_members(profile_, chosen->is_executed);
    if (!carried) return refuse(carried);
    new_.carried = std::move(*carried);
    auto anchor = new_anchor(profile_, metrics_);
    if (!anchor) return refuse(anchor);
    new_.anchor = std::move(*anchor);
    return {};
  }

  Status write() { return options_.packing_level ? write_packed() : write_plain(); }

  /// Bytes that all ranks together brought to storage. Collective.
  Result<std::uint64_t> written_bytes() {
    const auto of_ranks = team_.gather(std::vector{bytes_to_storage(stream())});
    if (!of_ranks) return refuse(of_ranks);
    return std::accumulate(of_ranks->begin(), of_ranks->end(), std::uint64_t{0});
  }

  StreamReport stream() const { return output_->report(); }

  const RemapSource& source() const { return *source_; }
  const std::vector<RemapMetric>& metrics() const { return metrics_; }

 private:
  void list_rows() {
    for (const RemapMetric& metric : metrics_) {
      if (metric.origin == RowOrigin::kNoRows) continue;
      const std::uint64_t value_bytes = metric.description.type.size_bytes();
      stored_.push_back(&metric);
      new_.metrics.push_back({.metric_id = metric.description.id,
                              .row_bytes = value_bytes * profile_.anchor().location_count(),
                              .index = metric.index,
                              .effort = metric.origin == RowOrigin::kComputed
                                            ? RowEffort::kComputed
                                            : RowEffort::kCopied});
    }
  }

  /// So much that the rows which all chunks of some call paths are computed from fit the cache.
  std::uint64_t chunk_bytes_wanted() const {
    const std::uint64_t inputs = source_->inputs().size();
    const bool computes = std::ranges::count(metrics_, RowOrigin::kComputed, &RemapMetric::origin);
    const std::uint64_t most = std::min(kBufferBytesUsual, options_.buffer_bytes_max);
    if (!computes || inputs == 0) return most;
    return std::min(most, options_.cache_bytes / (2 * inputs));
  }

  Status write_plain() {
    const std::uint64_t chunk_bytes = chunk_bytes_wanted();
    const ProfileLayout layout = plan_layout(new_);
    const auto chunks = plan_chunks(new_.metrics, chunk_bytes);
    const auto mine = part_of(chunks);
    const auto frame = team_.rank() == 0 ? std::span(layout.frame) : std::span<const Piece>();
    if (const Status created = create(layout.file_bytes, chunk_bytes); !created) return created;
    RemapRows rows(*source_, stored_, options_.threads);
    command::Progress progress(options_.progress,
                               {"writing " + options_.output, "bytes", bytes_of(mine)});
    const ProfileWriter writer{new_, rows, *output_, progress, options_.threads};
    return output_->publish(write_plain_rows(writer, layout, frame, mine));
  }

  Status write_packed() {
    if (const Status created = create(0, kBufferBytesUsual); !created) return created;
    RemapRows rows(*source_, stored_, options_.threads);
    const std::uint64_t bytes = all_row_bytes(new_.metrics) / team_.size();
    command::Progress progress(options_.progress,
                               {"compressing " + options_.output, "bytes", bytes});
    const ProfileWriter writer{new_, rows, *output_, progress, options_.threads};
    return output_->publish(
        write_packed_rows(writer, {*options_.packing_level, options_.cache_bytes}, team_));
  }

  Status create(std::uint64_t file_bytes, std::uint64_t chunk_bytes) {
    auto output = ProfileOutput::create({.path = options_.output,
                                         .expected_bytes = file_bytes,
                                         .buffer_bytes = buffer_bytes(chunk_bytes),
                                         .buffers = options_.threads + kBuffersUnderWay},
                                        team_);
    if (!output) return refuse(output);
    output_ = std::move(*output);
    return {};
  }

  std::uint64_t buffer_bytes(std::uint64_t chunk_bytes) const {
    const std::uint64_t useful = std::min(chunk_bytes, all_row_bytes(new_.metrics));
    const std::uint64_t wanted = std::max({kBufferBytesMin, useful, row_bytes_max(new_.metrics)});
    return std::min(wanted, options_.buffer_bytes_max);
  }

  /// This rank's chunks: those of a range of call paths.
  std::span<const RowChunk> part_of(const std::vector<RowChunk>& chunks) const {
    const std::size_t begin = chunks.size() * team_.rank() / team_.size();
    const std::size_t end = chunks.size() * (team_.rank() + 1) / team_.size();
    return std::span(chunks).subspan(begin, end - begin);
  }

  std::uint64_t bytes_of(std::span<const RowChunk> chunks) const {
    std::uint64_t sum = 0;
    for (const RowChunk& chunk : chunks)
      sum += new_.metrics[chunk.metric].row_bytes * chunk.count;
    return sum;
  }

  const RemapOptions& options_;
  const Profile& profile_;
  Team& team_;
  std::unique_ptr<RemapSource> source_;
  std::vector<RemapMetric> metrics_;
  std::vector<const RemapMetric*> stored_;  // those of new_
  NewProfile new_;
  std::unique_ptr<ProfileOutput> output_;
};

}  // namespace

Result<Json> remap(const RemapOptions& options, Team& team) {
  const auto start = std::chrono::steady_clock::now();
  const auto input = open_input(options.input);
  const Status opened = team.agree(input ? Status() : Status(refuse(input)));
  if (!opened) return refuse(opened);
  Remapping remapping(options, input->profile, team);
  if (const Status planned = team.agree(remapping.plan()); !planned) return refuse(planned);
  const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - start;
  if (const Status written = remapping.write(); !written) return refuse(written);
  const auto written_bytes = remapping.written_bytes();
  if (!written_bytes) return refuse(written_bytes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const std::uint64_t file_bytes = std::filesystem::file_size(options.output);
  Json report = to_json(remapping.source(), remapping.metrics());
  report["profile"]["path"] = options.output;
  report["profile"]["file_bytes"] = file_bytes;
  report["ranks"] = team.size();
  report["threads"] = options.threads;
  report["planning_s"] = planning.count();
  report["seconds"] = elapsed.count();
  report["bytes_per_s"] = static_cast<double>(file_bytes) / elapsed.count();
  report["read_bytes"] = input->source->read_bytes();
  report["read_s"] = input->source->read_s();
  report["written_bytes"] = *written_bytes;
  report["write_amplification"] =
      static_cast<double>(*written_bytes) / static_cast<double>(file_bytes);
  report["stream"] = to_json(remapping.stream());
  return report;
}

}  // namespace forebay::cube
