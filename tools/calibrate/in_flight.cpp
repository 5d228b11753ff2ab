// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight.hpp"

#include <forebay/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "model/profile_text.hpp"
#include "stream/plan.hpp"

namespace forebay::calibrate {

namespace fs = std::filesystem;

namespace {

/// Request size of streams, also used as buffer size. With larger buffers, more must be written
/// before a slow storage gives a result.
std::uint64_t request_bytes() {
  static const std::uint64_t bytes =
      plan_output({}, plan_stream().value_or(StreamPlan())).request_bytes;
  return bytes;
}
/// One is being submitted while the next one waits.
constexpr std::uint64_t kExtraBuffers = 2;
/// Bytes limit what is in flight, not the number of buffers.
constexpr std::uint32_t kDepth = 1024;
/// With more bytes in flight, any other write to the device waits this long.
constexpr double kBusySecondsMax = 0.25;
constexpr double kFirstSecondsMax = 3;
constexpr std::uint64_t kFirstInFlightBytes = 16_MiB;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Random data: storage may write zeros and repeated data faster.
std::vector<std::byte> make_data() {
  std::vector<std::byte> data(request_bytes());
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(data.data() + at, &word, sizeof(word));
  }
  return data;
}

/// Parameters of one write(), and when it stops.
struct WriteRun {
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t memory_bytes = in_flight_bytes;  ///< of the stream, at least
  double seconds = std::numeric_limits<double>::infinity();
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

/// A file of a directory that is overwritten repeatedly.
class FileWriter {
 public:
  FileWriter(const fs::path& directory, RuntimeOptions options)
      : path_(directory / "data"), runtime_(std::move(options)) {}

  /// Creates the file, so that measured writes find allocated space.
  Status prepare(std::uint64_t file_bytes) {
    file_bytes_ = file_bytes;
    const auto rate = write(
        {.in_flight_bytes = kFirstInFlightBytes, .seconds = kFirstSecondsMax, .bytes = file_bytes});
    if (!rate) return failure(rate.error());
    file_bytes_ = written_bytes_;
    return {};
  }

  /// Returns bytes a second.
  Result<double> write(const WriteRun& run) {
    auto out = runtime_.create_output_stream(
        {.buffer_bytes = request_bytes(),
         .buffers = static_cast<std::uint32_t>(run.memory_bytes / request_bytes() + kExtraBuffers),
         .tuning = {.request_bytes = request_bytes(),
                    .queue_depth = kDepth,
                    .in_flight_bytes = run.in_flight_bytes}});
    if (!out) return failure(out.error());
    if (const Status filled = fill(*out); !filled) return failure(filled.error());
    const auto file = out->create(path_, {.existing_content = ExistingContent::kKeep});
    if (!file) return failure(file.error());
    plan_ = file->plan();
    const double began = now_s();
    written_bytes_ = 0;
    while (written_bytes_ == 0 || (now_s() - began < run.seconds && written_bytes_ < run.bytes)) {
      if (const Status sent = submit_next(*out, *file); !sent) return failure(sent.error());
    }
    if (const Status drained = out->drain(); !drained) return failure(drained.error());
    const double seconds = now_s() - began;
    backend_ = out->report().devices.front().backend;
    return static_cast<double>(written_bytes_) / std::max(seconds, 1e-9);
  }

  const OutputPlan& plan() const { return plan_; }
  const std::string& backend() const { return backend_; }

 private:
  /// Fills all buffers of a stream, before the time is measured.
  Status fill(OutputStream& out) const {
    std::vector<OutputBuffer> all;
    for (std::uint32_t i = 0; i < out.plan().buffers; ++i) {
      auto buffer = out.acquire();
      if (!buffer) return failure(buffer.error());
      std::ranges::copy(data_, buffer->bytes().begin());
      all.push_back(std::move(*buffer));
    }
    return {};
  }

  Status submit_next(OutputStream& out, const OutputFile& file) {
    auto buffer = out.acquire();
    if (!buffer) return failure(buffer.error());
    const std::uint64_t at = written_bytes_ % file_bytes_;
    const std::uint64_t size = std::min(request_bytes(), file_bytes_ - at);
    written_bytes_ += size;
    return out.submit(std::move(*buffer), file, at, size);
  }

  const std::string path_;
  const std::vector<std::byte> data_ = make_data();
  Runtime runtime_;
  OutputPlan plan_;
  std::string backend_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;  ///< since the last write() began
};

/// With these options, streams have the requested bytes in flight: a profile replaces the limit of
/// the device.
Result<RuntimeOptions> options_without_limit(const fs::path& directory) {
  auto options = options_from_environment();
  if (!options) return options;
  std::error_code failed;
  const std::string profile = directory / "profile.toml";
  std::ofstream(profile) << model::make_profile({.path = fs::canonical(directory, failed),
                                                 .in_flight_bytes = model::kProfileInFlightBytesMax,
                                                 .source = "while calibrating"});
  options->tuning.profile = profile;
  return options;
}

/// Measures the points round by round, alternating between ascending and descending order.
class InFlightRounds {
 public:
  InFlightRounds(FileWriter& writer,
                 const InFlightLimits& limits,
                 const ProgressCallback& on_progress)
      : writer_(writer), limits_(limits), on_progress_(on_progress) {}

  /// Discarded round that determines the largest point of the others.
  Result<std::vector<InFlightPoint>> run_first() {
    std::vector<InFlightPoint> points;
    double best = 0;
    total_ = limits_.in_flight_bytes.size() * (limits_.rounds + 1);
    for (const std::uint64_t bytes : limits_.in_flight_bytes) {
      if (best > 0 && static_cast<double>(bytes) > kBusySecondsMax * best) break;
      const auto rate =
          measure({.in_flight_bytes = bytes, .seconds = limits_.seconds_each}, "first round");
      if (!rate) return failure(rate.error());
      best = std::max(best, *rate);
      points.push_back({bytes, {}});
    }
    total_ = done_ + points.size() * limits_.rounds;
    const auto usual_bytes = static_cast<std::uint64_t>(best * limits_.seconds_each);
    bytes_each_ = std::max(usual_bytes, points.back().in_flight_bytes + 2 * request_bytes());
    return points;
  }

  Status run(std::vector<InFlightPoint>& points) {
    const double began = now_s();
    for (unsigned round = 0; round < limits_.rounds; ++round) {
      if (round >= limits_.rounds_min && now_s() - began > limits_.seconds_max) break;
      const std::string what = fmt::format("round {} of {}", round + 1, limits_.rounds);
      for (std::size_t i = 0; i < points.size(); ++i) {
        InFlightPoint& point = points[round % 2 == 0 ? i : points.size() - 1 - i];
        const auto rate = measure({.in_flight_bytes = point.in_flight_bytes,
                                   .memory_bytes = points.back().in_flight_bytes,
                                   .bytes = bytes_each_},
                                  what);
        if (!rate) return failure(rate.error());
        point.bytes_per_second.push_back(*rate);
      }
    }
    if (on_progress_) on_progress_({total_, total_, "values", "measured"});
    return {};
  }

 private:
  Result<double> measure(const WriteRun& run, const std::string& what) {
    if (on_progress_) on_progress_({done_, total_, "values", what});
    ++done_;
    return writer_.write(run);
  }

  FileWriter& writer_;
  const InFlightLimits& limits_;
  const ProgressCallback& on_progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  // Bytes for each point, measured after equal pauses in which a stream gets its memory. Where
  // first bytes are faster, as with caches, fewer bytes or a later start would seem faster.
  std::uint64_t bytes_each_ = 0;
};

}  // namespace

Result<InFlightFindings> observe_in_flight(const fs::path& directory,
                                           const InFlightLimits& limits,
                                           const ProgressCallback& on_progress) {
  auto options = options_without_limit(directory);
  if (!options) return failure(options.error());
  FileWriter writer(directory, std::move(*options));
  if (on_progress) on_progress({0, 0, "values", "writing a file"});
  if (const Status ready = writer.prepare(limits.file_bytes); !ready) return failure(ready.error());
  InFlightRounds rounds(writer, limits, on_progress);
  auto points = rounds.run_first();
  if (!points) return failure(points.error());
  if (const Status done = rounds.run(*points); !done) return failure(done.error());
  InFlightFindings found{.access = writer.plan().access,
                         .access_reason = writer.plan().reason,
                         .backend = writer.backend(),
                         .request_bytes = writer.plan().request_bytes,
                         .points = std::move(*points)};
  found.access_reason.resize(std::min(found.access_reason.find(';'), found.access_reason.size()));
  found.choice = choose_in_flight(found.points);
  return found;
}

}  // namespace forebay::calibrate
