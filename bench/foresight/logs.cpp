// SPDX-License-Identifier: Apache-2.0
// Reads of recorded programs: the largest streams of Darshan logs, on sparse files.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/foresight/comparison.hpp"
#include "bench/frame/child_process.hpp"
#include "push/predictor.hpp"
#include "tools/trace/loaded_trace.hpp"

namespace forebay::bench::foresight {

namespace fs = std::filesystem;

namespace {

struct Log {
  const char* file;
  std::size_t streams;  ///< those with most reads
};
/// All streams of the last two are alike.
constexpr std::array kLogs = {Log{"nonmpi-dxt.darshan", 6}, Log{"flash-io-192ranks.darshan", 1},
                              Log{"mpi-io-test-32ranks.darshan", 1}};

const char* samples() {
  return std::getenv("FOREBAY_SAMPLES");  // NOLINT(concurrency-mt-unsafe): never set
}

/// The reads of the streams with most of them.
std::vector<Stream> largest_streams(const fs::path& trace, std::size_t count) {
  auto loaded = trace_tool::load_trace({trace.string()}).value();
  std::vector<Stream> streams;
  for (auto& [key, stream] : loaded.streams) {
    std::erase_if(stream.reads.all, [](const trace::Access& access) {
      return !push::is_predictable(access.offset, access.size);
    });
    streams.push_back(std::move(stream.reads.all));
  }
  std::ranges::sort(streams, std::ranges::greater(), &Stream::size);
  streams.resize(std::min(streams.size(), count));
  return streams;
}

}  // namespace

std::string logs_unavailable_reason() {
  if (samples() == nullptr) return "FOREBAY_SAMPLES does not name a directory of samples";
  if (find_program("forebay").empty()) return "PATH has no forebay, which imports the logs";
  return {};
}

std::vector<Case> cases_of_logs(Context& context, const Replayer& replayer) {
  Case one{.name = "Darshan logs", .replays = {}};
  for (const Log& log : kLogs) {
    const fs::path trace = context.directory() / (std::string(log.file) + ".trace");
    const fs::path source = fs::path(samples()) / "darshan" / log.file;
    check(run_child({"forebay", "trace", "import", source.string(), "-o", trace.string()}));
    for (const Stream& reads : largest_streams(trace, log.streams)) {
      const std::uint64_t end = std::ranges::max(reads, {}, &trace::Access::end).end();
      const std::string name = "log-" + std::to_string(one.replays.size());
      one.replays.push_back({.path = replayer.mounted().create_file(name, end).value(),
                             .reads = reads,
                             .has_words = false,
                             .is_open_timed = true});
    }
  }
  return {std::move(one)};
}

}  // namespace forebay::bench::foresight
