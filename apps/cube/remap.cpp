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
#include "cube/remap_context.hpp"
#include "cube/remap_report.hpp"

namespace forebay::cube {

namespace {

/// Size of stream buffers: large requests, and yet little memory.
constexpr std::uint64_t kBufferBytesDefault = 4ULL << 20U;
constexpr std::uint64_t kBufferBytesMin = 64ULL << 10U;
/// Buffers that are in flight while each thread fills one. A computed row takes ten times as long
/// as a copied one, and with two buffers a thread always waits for one.
constexpr unsigned kBuffersInFlight = 8;

template <class Value>
tl::unexpected<Error> propagate_error(const Result<Value>& failed) {
  return failure(failed.error());
}

Result<std::string> read_text_file(const std::string& path) {
  const auto source = open_posix_file(path);
  if (!source) return propagate_error(source);
  std::string text((*source)->size_bytes(), '\0');
  const Status read = (*source)->read(0, std::as_writable_bytes(std::span(text)));
  if (!read) return propagate_error(read);
  return text;
}

struct Input {
  std::shared_ptr<const TimedFile> source;
  Profile profile;
};

Result<Input> open_input(const std::string& path) {
  auto plain = open_posix_file(path);
  if (!plain) return propagate_error(plain);
  auto source = std::make_shared<const TimedFile>(std::move(*plain));
  auto profile = Profile::open(source);
  if (!profile) return propagate_error(profile);
  return Input{std::move(source), std::move(*profile)};
}

/// The specification to execute, and whether there is one.
struct SelectedSpecification {
  cubepl::Specification specification = {};
  bool is_executed = false;
};

Result<SelectedSpecification> read_specification(const Profile& profile,
                                                 const RemapOptions& options) {
  Result<std::string> text = std::string();
  std::string path = options.specification;
  const Member* const inner = profile.container().find(kSpecificationName);
  if (!path.empty()) {
    text = read_text_file(path);
  } else if (inner != nullptr && !options.should_ignore_embedded) {
    path = fmt::format("{} ({})", options.input, kSpecificationName);
    text = profile.text_of(*inner);
  } else {
    return SelectedSpecification{};
  }
  if (!text) return propagate_error(text);
  auto parsed = cubepl::parse_specification(*text, path);
  if (!parsed) return propagate_error(parsed);
  return SelectedSpecification{std::move(*parsed), true};
}

/// Whether it is the name of a metric's index or data.
bool is_row_member(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view ending = name.substr(digits);
  return digits > 0 && (ending == ".data" || ending == ".index");
}

/// Members that are neither rows nor description. An executed specification is not copied: measured
/// metrics that it needs may be missing, and executing it twice gives other values.
Result<std::vector<CopiedMember>> read_copied_members(const Profile& profile, bool is_executed) {
  std::vector<CopiedMember> copied_members;
  for (const Member& member : profile.container().members) {
    const bool is_consumed = is_executed && member.name == kSpecificationName;
    const bool is_ours = member.name == kAnchorName || member.name == kPaddingName;
    if (is_row_member(member.name) || is_consumed || is_ours) continue;
    auto text = profile.text_of(member);
    if (!text) return propagate_error(text);
    copied_members.push_back({member.name, std::move(*text)});
  }
  return copied_members;
}

Result<std::string> new_anchor(const Profile& profile, const std::vector<RemapMetric>& metrics) {
  auto content = profile.text_of(*profile.container().find(kAnchorName));
  if (!content) return propagate_error(content);
  const auto text = decompress_anchor(std::move(*content));
  if (!text) return propagate_error(text);
  std::vector<Metric> descriptions;
  for (const RemapMetric& metric : metrics)
    descriptions.push_back(metric.description);
  return replace_metrics(*text, descriptions);
}

/// Blocks merged from parts are written whole.
std::uint64_t bytes_to_storage(const StreamReport& report) {
  constexpr std::uint64_t kBlockBytes = 4096;
  std::uint64_t bytes = report.merged_blocks * kBlockBytes;
  for (const DeviceReport& device : report.devices)
    bytes += device.bytes;
  return bytes;
}

class RemapJob {
 public:
  RemapJob(const RemapOptions& options, const Profile& profile, WriterComm& comm)
      : options_(options), profile_(profile), comm_(comm) {}

  Status plan() {
    auto chosen = read_specification(profile_, options_);
    if (!chosen) return propagate_error(chosen);
    const RemapSelection selection = resolve_selectors(profile_.anchor(), options_.selection);
    auto program = compile_remap(profile_.anchor(), std::move(chosen->specification), selection);
    if (!program) return propagate_error(program);
    auto source = RemapContext::create(profile_, std::move(*program), options_.cache_bytes);
    if (!source) return propagate_error(source);
    source_ = std::move(*source);
    auto metrics = plan_metrics(source_->input(), selection);
    if (!metrics) return propagate_error(metrics);
    metrics_ = std::move(*metrics);
    list_rows();
    auto copied_members = read_copied_members(profile_, chosen->is_executed);
    if (!copied_members) return propagate_error(copied_members);
    profile_spec_.copied_members = std::move(*copied_members);
    auto anchor = new_anchor(profile_, metrics_);
    if (!anchor) return propagate_error(anchor);
    profile_spec_.anchor = std::move(*anchor);
    return {};
  }

  Status write() { return options_.compression_level ? write_compressed() : write_plain(); }

  /// Bytes that all ranks together wrote to storage. Collective.
  Result<std::uint64_t> written_bytes() {
    const auto of_ranks = comm_.allgather(std::vector{bytes_to_storage(stream())});
    if (!of_ranks) return propagate_error(of_ranks);
    return std::accumulate(of_ranks->begin(), of_ranks->end(), std::uint64_t{0});
  }

  StreamReport stream() const { return output_->report(); }

  const RemapContext& source() const { return *source_; }
  const std::vector<RemapMetric>& metrics() const { return metrics_; }

 private:
  void list_rows() {
    for (const RemapMetric& metric : metrics_) {
      if (metric.origin == RowOrigin::kNoRows) continue;
      const std::uint64_t value_bytes = metric.description.type.size_bytes();
      stored_.push_back(&metric);
      profile_spec_.metrics.push_back(
          {.metric_id = metric.description.id,
           .row_bytes = value_bytes * profile_.anchor().location_count(),
           .index = metric.index,
           .cost = metric.origin == RowOrigin::kComputed ? RowCost::kCpu : RowCost::kIo});
    }
  }

  /// Small enough that the input of all chunks of some call paths fits in the cache.
  std::uint64_t choose_chunk_bytes() const {
    const std::uint64_t inputs = source_->inputs().size();
    const bool computes = std::ranges::count(metrics_, RowOrigin::kComputed, &RemapMetric::origin);
    const std::uint64_t most = std::min(kBufferBytesDefault, options_.buffer_bytes_max);
    if (!computes || inputs == 0) return most;
    return std::min(most, options_.cache_bytes / (2 * inputs));
  }

  Status write_plain() {
    const std::uint64_t chunk_bytes = choose_chunk_bytes();
    const ProfileLayout layout = plan_layout(profile_spec_);
    const auto chunks = plan_chunks(profile_spec_.metrics, chunk_bytes);
    const auto local = rank_chunks(chunks);
    const auto framing =
        comm_.rank() == 0 ? std::span(layout.framing) : std::span<const FileSegment>();
    if (const Status created = create(layout.file_bytes, chunk_bytes); !created) return created;
    RemapRowSource rows(*source_, stored_, options_.threads);
    command::Progress progress(options_.progress,
                               {"writing " + options_.output, "bytes", bytes_of(local)});
    const ProfileWriter writer{profile_spec_, rows, *output_, progress, options_.threads};
    return output_->publish(write_plain_rows(writer, layout, framing, local));
  }

  Status write_compressed() {
    if (const Status created = create(0, kBufferBytesDefault); !created) return created;
    RemapRowSource rows(*source_, stored_, options_.threads);
    const std::uint64_t bytes = total_row_bytes(profile_spec_.metrics) / comm_.size();
    command::Progress progress(options_.progress,
                               {"compressing " + options_.output, "bytes", bytes});
    const ProfileWriter writer{profile_spec_, rows, *output_, progress, options_.threads};
    return output_->publish(
        write_compressed_rows(writer, {*options_.compression_level, options_.cache_bytes}, comm_));
  }

  Status create(std::uint64_t file_bytes, std::uint64_t chunk_bytes) {
    auto output = ProfileOutput::create({.path = options_.output,
                                         .expected_bytes = file_bytes,
                                         .buffer_bytes = buffer_bytes(chunk_bytes),
                                         .buffers = options_.threads + kBuffersInFlight},
                                        comm_);
    if (!output) return propagate_error(output);
    output_ = std::move(*output);
    return {};
  }

  std::uint64_t buffer_bytes(std::uint64_t chunk_bytes) const {
    const std::uint64_t useful = std::min(chunk_bytes, total_row_bytes(profile_spec_.metrics));
    const std::uint64_t wanted =
        std::max({kBufferBytesMin, useful, row_bytes_max(profile_spec_.metrics)});
    return std::min(wanted, options_.buffer_bytes_max);
  }

  /// The chunks of this rank: those of a range of call paths.
  std::span<const RowChunk> rank_chunks(const std::vector<RowChunk>& chunks) const {
    const std::size_t begin = chunks.size() * comm_.rank() / comm_.size();
    const std::size_t end = chunks.size() * (comm_.rank() + 1) / comm_.size();
    return std::span(chunks).subspan(begin, end - begin);
  }

  std::uint64_t bytes_of(std::span<const RowChunk> chunks) const {
    std::uint64_t sum = 0;
    for (const RowChunk& chunk : chunks)
      sum += profile_spec_.metrics[chunk.metric].row_bytes * chunk.count;
    return sum;
  }

  const RemapOptions& options_;
  const Profile& profile_;
  WriterComm& comm_;
  std::unique_ptr<RemapContext> source_;
  std::vector<RemapMetric> metrics_;
  std::vector<const RemapMetric*> stored_;  // those of profile_spec_
  NewProfile profile_spec_;
  std::unique_ptr<ProfileOutput> output_;
};

}  // namespace

Result<Json> remap(const RemapOptions& options, WriterComm& comm) {
  const auto start = std::chrono::steady_clock::now();
  const auto input = open_input(options.input);
  const Status opened = comm.agree(input ? Status() : Status(propagate_error(input)));
  if (!opened) return propagate_error(opened);
  RemapJob remapping(options, input->profile, comm);
  if (const Status planned = comm.agree(remapping.plan()); !planned)
    return propagate_error(planned);
  const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - start;
  if (const Status written = remapping.write(); !written) return propagate_error(written);
  const auto written_bytes = remapping.written_bytes();
  if (!written_bytes) return propagate_error(written_bytes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const std::uint64_t file_bytes = std::filesystem::file_size(options.output);
  Json report = to_json(remapping.source(), remapping.metrics());
  report["profile"]["path"] = options.output;
  report["profile"]["file_bytes"] = file_bytes;
  report["ranks"] = comm.size();
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
