// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions from a file and from variables: settings that users can change without compiling
// the program again.
#include "runtime/options.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace forebay {

namespace {

constexpr std::array kKeys = {
    ConfigKey{"budget", "upper limit of the memory for data of all sessions"},
    ConfigKey{"buffer_cache", "upper limit of freed buffers that are kept for later use"},
    ConfigKey{"backend", "system interface of direct I/O: auto, io_uring, threads or aio"},
    ConfigKey{"cores", "processors for threads of Forebay, as in 2-3,7"},
    ConfigKey{"copy_threads", "threads that copy from the page cache; 0: chosen from the cores"},
    ConfigKey{"bulk", "transport of bytes between nodes: auto or tcp"},
    ConfigKey{"network", "interface or address by which agents of other nodes reach this one"},
    ConfigKey{"hints", "reads that programs will make: a hint file"},
    ConfigKey{"learned_hints", "hint file that each run reads, and writes for the next one"},
    ConfigKey{"machine", "description of the storage: the name of a machine, or a machine file"},
    ConfigKey{"placement", "where agents run: in-rank or dedicated"},
    ConfigKey{"profile", "measured limits of the storage: a profile file"},
    ConfigKey{"trace", "file into which the reads of sessions are recorded"},
    ConfigKey{"write_thread_affinity",
              "processors of threads that copy into the page cache: separate or inherited"},
};

// Variables of the command line, of datasets and of tests, which are not settings of a Runtime.
constexpr std::array<std::string_view, 4> kOtherVariables = {"FOREBAY_LIBEXEC", "FOREBAY_MACHINES",
                                                             "FOREBAY_PLAN", "FOREBAY_SAMPLES"};

constexpr std::uint64_t kBudgetBytesMin = 64_KiB;
constexpr std::uint64_t kBudgetBytesMax = 1ULL << 40U;
constexpr std::uint64_t kCacheBytesMax = 1ULL << 40U;
constexpr std::uint64_t kCopyThreadsMax = 256;
constexpr int kProcessorsMax = 1024;  ///< as many as cpu_set_t has

Result<BackendChoice> parse_backend(std::string_view text) {
  for (const BackendChoice choice : {BackendChoice::kAuto, BackendChoice::kIoUring,
                                     BackendChoice::kThreads, BackendChoice::kAio}) {
    if (text == name_of(choice)) return choice;
  }
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "read the setting backend",
       .cause = "\"" + std::string(text) + "\" is none of auto, io_uring, threads, aio"});
}

Result<BulkTransport> parse_bulk(std::string_view text) {
  if (text == "auto") return BulkTransport::kAuto;
  if (text == "tcp") return BulkTransport::kTcp;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the setting bulk",
                  .cause = "\"" + std::string(text) + "\" is neither auto nor tcp"});
}

Result<Placement> parse_placement(std::string_view text) {
  if (text == "in-rank") return Placement::kInRank;
  if (text == "dedicated") return Placement::kDedicated;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the setting placement",
                  .cause = "\"" + std::string(text) + "\" is none of in-rank, dedicated"});
}

Result<WriteThreadAffinity> parse_writer_affinity(std::string_view text) {
  if (text == "separate") return WriteThreadAffinity::kSeparate;
  if (text == "inherited") return WriteThreadAffinity::kInherited;
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the setting write_thread_affinity",
                  .cause = "\"" + std::string(text) + "\" is neither separate nor inherited"});
}

/// Parses "2-3,7": numbers and ranges. Returns them sorted and unique; no value for invalid text.
std::optional<std::vector<int>> parse_processor_list(std::string_view text) {
  std::set<int> numbers;
  for (bool is_last = false; !is_last;) {
    int first = 0;
    const char* const end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    is_last = read.ptr == end;
    const bool is_sound =
        read.ec == std::errc() && first >= 0 && first <= last && last < kProcessorsMax;
    if (!is_sound || (!is_last && *read.ptr != ',')) return std::nullopt;
    for (int number = first; number <= last; ++number)
      numbers.insert(number);
    if (!is_last) text.remove_prefix(static_cast<std::size_t>(read.ptr + 1 - text.data()));
  }
  return std::vector<int>(numbers.begin(), numbers.end());
}

Result<std::vector<int>> parse_cores(std::string_view text) {
  if (text.empty()) return std::vector<int>();
  if (auto numbers = parse_processor_list(text)) return std::move(*numbers);
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "read the setting cores",
                  .cause = "\"" + std::string(text) +
                           "\" is not a list of processors; write one as in 2-3,7 (0 to 1023)"});
}

}  // namespace

Result<RuntimeOptions> options_from(const Environment& environment) {
  const ConfigSource source{
      .keys = kKeys, .environment = environment, .file = {}, .other_variables = kOtherVariables};
  const auto config = Config::load(source);
  if (!config) return failure(config.error());
  RuntimeOptions options;
  const auto budget =
      config->bytes("budget", {options.budget_bytes, kBudgetBytesMin, kBudgetBytesMax});
  if (!budget) return failure(budget.error());
  const auto cache =
      config->bytes("buffer_cache", {options.tuning.buffer_cache_bytes, 0, kCacheBytesMax});
  if (!cache) return failure(cache.error());
  options.tuning.buffer_cache_bytes = *cache;
  const auto copy_threads =
      config->count("copy_threads", {options.tuning.copy_threads, 0, kCopyThreadsMax});
  if (!copy_threads) return failure(copy_threads.error());
  const auto backend = config->text("backend", "auto").and_then(parse_backend);
  if (!backend) return failure(backend.error());
  const auto network = config->text("network", "");
  if (!network) return failure(network.error());
  const auto bulk = config->text("bulk", "auto").and_then(parse_bulk);
  if (!bulk) return failure(bulk.error());
  const auto machine = config->text("machine", "");
  if (!machine) return failure(machine.error());
  options.machine = *machine;
  options.tuning.bulk_transport = *bulk;
  options.network = *network;
  const auto placement = config->text("placement", "in-rank").and_then(parse_placement);
  if (!placement) return failure(placement.error());
  const auto write_thread_affinity =
      config->text("write_thread_affinity", "separate").and_then(parse_writer_affinity);
  if (!write_thread_affinity) return failure(write_thread_affinity.error());
  options.tuning.write_thread_affinity = *write_thread_affinity;
  const auto cores = config->text("cores", "").and_then(parse_cores);
  if (!cores) return failure(cores.error());
  options.tuning.cores = *cores;
  const auto profile = config->text("profile", "");
  if (!profile) return failure(profile.error());
  if (config->is_set("profile")) options.tuning.profile = *profile;
  const auto hints = config->text("hints", "");
  if (!hints) return failure(hints.error());
  options.hints_path = *hints;
  const auto learned_hints = config->text("learned_hints", "");
  if (!learned_hints) return failure(learned_hints.error());
  options.learned_hints_path = *learned_hints;
  const auto trace = config->text("trace", "");
  if (!trace) return failure(trace.error());
  options.trace_path = *trace;
  options.budget_bytes = *budget;
  options.tuning.copy_threads = static_cast<unsigned>(*copy_threads);
  options.tuning.backend = *backend;
  options.placement = *placement;
  return options;
}

Result<RuntimeOptions> options_from_environment() { return options_from(process_environment()); }

}  // namespace forebay
