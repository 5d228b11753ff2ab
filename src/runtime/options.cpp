// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions from a file and from variables: settings that users can change without compiling
// the program again.
#include "runtime/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
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
    ConfigKey{"machine", "description of the storage: the name of a machine, or a machine file"},
    ConfigKey{"placement", "where agents run: in-rank or dedicated"},
    ConfigKey{"profile", "measured limits of the storage: a profile file"},
    ConfigKey{"hints", "reads that programs will make: a hint file"},
    ConfigKey{"learned_hints", "hint file that each run reads, and writes for the next one"},
    ConfigKey{"trace", "file into which the reads of sessions are recorded"},
    ConfigKey{"write_thread_affinity",
              "processors of threads that copy into the page cache: separate or inherited"},
};

// Variables of the command line, of datasets and of tests, which are not settings of a Runtime.
constexpr std::array<std::string_view, 5> kOtherVariables = {
    "FOREBAY_LIBEXEC", "FOREBAY_MACHINES", "FOREBAY_PLAN", "FOREBAY_SAMPLES", "FOREBAY_TUNING"};

constexpr std::uint64_t kBudgetBytesMin = 64_KiB;
/// Windows take at most 1 / this of the free memory.
constexpr std::uint64_t kFreeShare = 2;
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

/// Stores the values of settings; keeps the first Error.
class Assignments {
 public:
  template <class Value, class Member>
  void assign(Result<Value> value, Member& member) {
    if (value)
      member = static_cast<Member>(std::move(*value));
    else if (status_)
      status_ = failure(value.error());
  }
  const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

void read_tuning(const Config& config, Assignments& settings, RuntimeTuning& tuning) {
  settings.assign(config.bytes("buffer_cache", {tuning.buffer_cache_bytes, 0, kCacheBytesMax}),
                  tuning.buffer_cache_bytes);
  settings.assign(config.count("copy_threads", {tuning.copy_threads, 0, kCopyThreadsMax}),
                  tuning.copy_threads);
  settings.assign(config.text("backend", "auto").and_then(parse_backend), tuning.backend);
  settings.assign(config.text("bulk", "auto").and_then(parse_bulk), tuning.bulk_transport);
  settings.assign(config.text("write_thread_affinity", "separate").and_then(parse_writer_affinity),
                  tuning.write_thread_affinity);
  settings.assign(config.text("cores", "").and_then(parse_cores), tuning.cores);
  if (config.is_set("profile")) settings.assign(config.text("profile", ""), tuning.profile);
}

}  // namespace

Result<RuntimeOptions> options_from(const Environment& environment) {
  const ConfigSource source{
      .keys = kKeys, .environment = environment, .file = {}, .other_variables = kOtherVariables};
  const auto config = Config::load(source);
  if (!config) return failure(config.error());
  RuntimeOptions options;
  Assignments settings;
  settings.assign(config->bytes("budget", {options.budget_bytes, kBudgetBytesMin, kBudgetBytesMax}),
                  options.budget_bytes);
  settings.assign(config->text("network", ""), options.network);
  settings.assign(config->text("machine", ""), options.machine);
  settings.assign(config->text("placement", "in-rank").and_then(parse_placement),
                  options.placement);
  settings.assign(config->text("trace", ""), options.trace_path);
  settings.assign(config->text("hints", ""), options.hints_path);
  settings.assign(config->text("learned_hints", ""), options.learned_hints_path);
  read_tuning(*config, settings, options.tuning);
  if (!settings.status()) return failure(settings.status().error());
  return options;
}

Result<RuntimeOptions> options_from_environment() { return options_from(process_environment()); }

std::uint64_t affordable_budget(std::uint64_t requested_bytes,
                                std::optional<std::uint64_t> free_bytes,
                                std::uint32_t ranks) noexcept {
  if (!free_bytes) return requested_bytes;
  return std::min(requested_bytes, std::max(*free_bytes / kFreeShare / ranks, kBudgetBytesMin));
}

}  // namespace forebay
