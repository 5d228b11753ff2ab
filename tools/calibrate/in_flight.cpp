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

namespace forebay::calibrate {

namespace fs = std::filesystem;

namespace {

/// Streams hand over larger buffers and ask in requests of this. With buffers of one request each
/// less has to be written before anything is known, where storage is slow.
std::uint64_t request_bytes() {
  static const std::uint64_t bytes =
      plan_output({}, plan_stream().value_or(StreamPlan())).request_bytes;
  return bytes;
}
/// One is being handed over while the next one waits.
constexpr std::uint64_t kBuffersBesides = 2;
/// Bytes limit what is under way, not their number.
constexpr std::uint32_t kDepth = 1024;
/// With more than this under way, whoever writes a byte waits for as long.
constexpr double kBusySecondsMax = 0.25;
constexpr double kFirstSecondsMax = 3;
constexpr std::uint64_t kFirstInFlightBytes = 16_MiB;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Storage may write zeros, and what it has already, faster than data.
std::vector<std::byte> make_data() {
  std::vector<std::byte> data(request_bytes());
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(data.data() + at, &word, sizeof(word));
  }
  return data;
}

/// With what to write, and when to stop.
struct Task {
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t memory_bytes = in_flight_bytes;  ///< of the stream, at least
  double seconds = std::numeric_limits<double>::infinity();
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
};

/// One file of a folder, written again and again.
class FileWriter {
 public:
  FileWriter(const fs::path& folder, RuntimeOptions options)
      : path_(folder / "data"), runtime_(std::move(options)) {}

  /// Makes the file, so that all that is measured finds its space there.
  Status prepare(std::uint64_t file_bytes) {
    file_bytes_ = file_bytes;
    const auto rate = write(
        {.in_flight_bytes = kFirstInFlightBytes, .seconds = kFirstSecondsMax, .bytes = file_bytes});
    if (!rate) return failure(rate.error());
    file_bytes_ = written_bytes_;
    return {};
  }

  /// Bytes a second.
  Result<double> write(const Task& task) {
    auto out = runtime_.output_stream({.buffer_bytes = request_bytes(),
                                       .buffers = static_cast<std::uint32_t>(
                                           task.memory_bytes / request_bytes() + kBuffersBesides),
                                       .request_bytes = request_bytes(),
                                       .queue_depth = kDepth,
                                       .in_flight_bytes = task.in_flight_bytes});
    if (!out) return failure(out.error());
    if (const Status filled = fill(*out); !filled) return failure(filled.error());
    const auto file = out->create(path_, {.existing = Existing::kKeep});
    if (!file) return failure(file.error());
    plan_ = file->plan();
    const double began = now_s();
    written_bytes_ = 0;
    while (written_bytes_ == 0 || (now_s() - began < task.seconds && written_bytes_ < task.bytes)) {
      if (const Status sent = send_next(*out, *file); !sent) return failure(sent.error());
    }
    if (const Status drained = out->drain(); !drained) return failure(drained.error());
    const double seconds = now_s() - began;
    backend_ = out->report().devices.front().backend;
    return static_cast<double>(written_bytes_) / std::max(seconds, 1e-9);
  }

  const OutputPlan& plan() const { return plan_; }
  const std::string& backend() const { return backend_; }

 private:
  /// Before time is taken.
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

  Status send_next(OutputStream& out, const OutputFile& file) {
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

/// Streams of these options have under way what they are told: a profile lifts the limit that the
/// device has otherwise.
Result<RuntimeOptions> options_without_limit(const fs::path& folder) {
  auto options = options_from_environment();
  if (!options) return options;
  std::error_code failed;
  const std::string profile = folder / "profile.toml";
  std::ofstream(profile) << model::new_profile({.path = fs::canonical(folder, failed),
                                                .in_flight_bytes = model::kProfileInFlightBytesMax,
                                                .source = "while calibrating"});
  options->profile = profile;
  return options;
}

/// Goes up and down the points, round after round.
class Rounds {
 public:
  Rounds(FileWriter& writer, const InFlightLimits& limits, const Tell& tell)
      : writer_(writer), limits_(limits), tell_(tell) {}

  /// The round that does not count: says how far the others go.
  Result<std::vector<InFlightPoint>> first() {
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
    if (tell_) tell_({total_, total_, "values", "measured"});
    return {};
  }

 private:
  Result<double> measure(const Task& task, const std::string& what) {
    if (tell_) tell_({done_, total_, "values", what});
    ++done_;
    return writer_.write(task);
  }

  FileWriter& writer_;
  const InFlightLimits& limits_;
  const Tell& tell_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  // As many for each point, after as long a pause, in which a stream gets its memory: where
  // something takes the first bytes faster than the others, as caches do, who writes less or later
  // seems to be faster.
  std::uint64_t bytes_each_ = 0;
};

}  // namespace

Result<InFlightFindings> observe_in_flight(const fs::path& folder,
                                           const InFlightLimits& limits,
                                           const Tell& tell) {
  auto options = options_without_limit(folder);
  if (!options) return failure(options.error());
  FileWriter writer(folder, std::move(*options));
  if (tell) tell({0, 0, "values", "writing a file"});
  if (const Status ready = writer.prepare(limits.file_bytes); !ready) return failure(ready.error());
  Rounds rounds(writer, limits, tell);
  auto points = rounds.first();
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
