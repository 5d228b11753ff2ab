// SPDX-License-Identifier: Apache-2.0
// Forebay's datasets as a backend of kernels. A rank puts the bytes of an array as one part of a
// field, or as boxes of a global array if the kernel states their places.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "tools/kernel/backend_functions.hpp"
#include "tools/kernel/forebay_backends.hpp"
#include "tools/kernel/runtimes.hpp"

namespace forebay::kernel {

namespace {

constexpr std::array kExchanges{Exchange::kNone, Exchange::kSharedMemory, Exchange::kMessage,
                                Exchange::kBrigade, Exchange::kGather};

class DatasetRun {
 public:
  explicit DatasetRun(fk_job& job) : job_(job), runtime_(runtime_of(job.communicator)) {}

  int start() {
    auto plan = make_plan();
    if (!plan) return fail(plan.error());
    auto dataset = runtime_.create_dataset(path(), {.plan = *plan});
    if (!dataset) return fail(dataset.error());
    writer_.emplace(std::move(*dataset));
    return 0;
  }

  int begin_write(const fk_array* arrays, std::size_t /*count*/) {
    auto begun = writer_->begin_step(number_of(arrays->step));
    if (!begun) return fail(begun.error());
    step_.emplace(std::move(*begun));
    return 0;
  }

  /// Lends a buffer if the option `adopt` is set.
  void* memory(const fk_array& array, void* own) {
    if (fk_has_option(&job_, "adopt") == 0 || is_listed(array) || array.calls->bytes == 0)
      return own;
    auto buffer = runtime_.allocate(array.calls->bytes);
    if (!buffer) return own;
    // Its pages are allocated now, so that their cost is blocked time and not computing time.
    ::madvise(buffer->data(), buffer->bytes().size(), MADV_POPULATE_WRITE);
    lent_ = std::move(*buffer);
    return lent_.data();
  }

  int write(const fk_array& array, const void* memory) {
    if (!step_) return -1;
    const std::span bytes(static_cast<const std::byte*>(memory), array.calls->bytes);
    if (is_listed(array)) return write_boxes(array, bytes);
    const bool is_lent = !lent_.empty() && lent_.data() == memory;
    const Status put =
        is_lent ? step_->put<std::byte>(field(array), Part{job_.rank}, adopt(std::move(lent_)))
                : step_->put(field(array), Part{job_.rank}, bytes);
    return put ? 0 : fail(put.error());
  }

  int end_write() {
    if (!step_) return -1;
    receipts_.push_back(step_->commit());
    step_.reset();
    return 0;
  }

  int make_durable() {
    int outcome = 0;
    for (Future<Receipt>& receipt : receipts_)
      if (const auto result = receipt.wait(); !result) outcome = fail(result.error());
    receipts_.clear();
    return outcome;
  }

  /// All ranks wait for their receipts; then the dataset has the steps of all.
  int begin_read(const fk_array* arrays) {
    int outcome = make_durable();
    MPI_Barrier(job_.communicator);
    auto dataset = runtime_.open_dataset(path());
    if (!dataset) return fail(dataset.error());
    reader_.emplace(std::move(*dataset));
    auto stored = reader_->open_step(number_of(arrays->step));
    if (!stored) return fail(stored.error());
    stored_.emplace(std::move(*stored));
    return outcome;
  }

  int read(const fk_array& array, const fk_calls& calls, std::byte* into) {
    if (!stored_) return -1;
    std::vector<Future<ByteCount>> pending;
    for (std::size_t i = 0; i < calls.count; into += calls.calls[i++].bytes) {
      const ByteRange call{calls.calls[i].offset, calls.calls[i].bytes};
      if (is_listed(array))
        pending.push_back(
            stored_->read(field(array), box(array, call), std::span(into, call.size)));
      else
        read_parts(array, call, into, pending);
    }
    int outcome = 0;
    for (Future<ByteCount>& one : pending)
      if (const auto done = one.wait(); !done) outcome = fail(done.error());
    return outcome;
  }

  int end_read() {
    stored_.reset();
    reader_.reset();
    return 0;
  }

  void report(fk_report& report) const {
    report.staging_bytes = writer_->report().staging_bytes_max;
    report.planned_bytes = writer_->plan().memory_bytes;
    const WritePlan& plan = writer_->plan();
    const auto exchange = name_of(plan.tuning.exchange.value_or(Exchange::kNone));
    const std::string stripes = plan.tuning.stripe_count == 0
                                    ? std::string()
                                    : ",stripe_count=" + std::to_string(plan.tuning.stripe_count);
    std::snprintf(report.plan, sizeof report.plan,
                  "%s,writers=%u,files=%u,unit_kib=%llu,alignment_kib=%llu,exchange=%s%s",
                  std::string(name_of(plan.strategy)).c_str(), plan.writers, plan.files,
                  static_cast<unsigned long long>(plan.tuning.unit_bytes >> 10U),
                  static_cast<unsigned long long>(plan.tuning.alignment_bytes >> 10U),
                  std::string(exchange).c_str(), stripes.c_str());
  }

  int finish() {
    const Status closed = writer_->close();
    return closed ? 0 : fail(closed.error());
  }

 private:
  int fail(const Error& error) { return kernel::fail(job_, error); }
  std::string path() const { return std::string(job_.directory) + "/run.fb"; }
  /// Each group of a step is a step of the dataset. The step before the clock has the number -1.
  std::uint64_t number_of(std::int64_t step) const {
    return static_cast<std::uint64_t>(step + 1) * FK_OPERATIONS_MAX + job_.group;
  }
  const fk_operation& operation(const fk_array& array) const {
    return job_.kernel->operations[array.operation];
  }
  bool is_listed(const fk_array& array) const { return operation(array).node_count > 0; }
  const char* field(const fk_array& array) const { return operation(array).name; }
  Subarray box(const fk_array& array, const ByteRange& range) const {
    return {.shape = {array.starts[job_.ranks]}, .start = {range.offset}, .count = {range.size}};
  }

  /// The first option that is no assignment is the strategy.
  Result<WritePlan> make_plan() const {
    WritePlan plan;
    const std::string options = job_.options;
    const std::string word = options.substr(0, options.find(','));
    if (!word.empty() && word != "adopt" && word.find('=') == std::string::npos && word != "auto") {
      const auto strategy = parse_strategy(word);
      if (!strategy) return failure(strategy.error());
      plan = plan_of(*strategy);
    }
    plan.writers = static_cast<std::uint32_t>(fk_option_number(&job_, "writers", plan.writers));
    plan.files = static_cast<std::uint32_t>(fk_option_number(&job_, "files", plan.files));
    plan.tuning.stripe_count = count_of("stripe_count");
    plan.steps_in_flight = count_of("steps_in_flight");
    plan.memory_bytes = bytes_of("memory_mib", 20);
    plan.tuning.unit_bytes = bytes_of("unit_kib", 10);
    plan.tuning.alignment_bytes = bytes_of("alignment_kib", 10);
    for (const Exchange one : kExchanges)
      if (fk_has_option(&job_, ("exchange=" + std::string(name_of(one))).c_str()) != 0)
        plan.tuning.exchange = one;
    return plan;
  }

  /// The number of an option; 0: it is not set.
  std::uint32_t count_of(const char* option) const {
    return static_cast<std::uint32_t>(std::max(0L, fk_option_number(&job_, option, 0)));
  }

  /// The bytes that an option states in units of 2^shift; 0: it is not set.
  std::uint64_t bytes_of(const char* option, unsigned shift) const {
    return static_cast<std::uint64_t>(std::max(0L, fk_option_number(&job_, option, 0))) << shift;
  }

  int write_boxes(const fk_array& array, std::span<const std::byte> bytes) {
    int outcome = 0;
    for (std::size_t i = 0; i < array.calls->count; ++i) {
      const ByteRange call{array.calls->calls[i].offset, array.calls->calls[i].bytes};
      const Status put = step_->put(field(array), box(array, call), bytes.first(call.size));
      if (!put) outcome = fail(put.error());
      bytes = bytes.subspan(call.size);
    }
    return outcome;
  }

  void read_parts(const fk_array& array,
                  const ByteRange& call,
                  std::byte* into,
                  std::vector<Future<ByteCount>>& pending) {
    const auto* const begin = array.starts;
    const auto* first = std::upper_bound(begin, begin + job_.ranks, call.offset) - 1;
    auto rank = static_cast<std::uint32_t>(first - begin);
    const fk_call wanted{call.offset, call.size};
    fk_call part{};
    for (; fk_next_part(&array, job_.ranks, &wanted, &rank, &part) != 0; ++rank)
      pending.push_back(stored_->read(field(array), Part{rank}, part.offset - begin[rank],
                                      std::span(into + (part.offset - call.offset), part.bytes)));
  }

  fk_job& job_;
  Runtime& runtime_;
  std::optional<DatasetWriter> writer_;
  std::optional<StepWriter> step_;
  Buffer lent_;
  std::vector<Future<Receipt>> receipts_;
  std::optional<DatasetReader> reader_;
  std::optional<StepReader> stored_;
};

}  // namespace
}  // namespace forebay::kernel

const fk_backend fk_forebay = forebay::kernel::with_functions_of<forebay::kernel::DatasetRun>({
    .name = "forebay",
    .options = "auto (default) or a strategy; writers=N, files=N, unit_kib=N, alignment_kib=N, "
               "stripe_count=N, exchange=NAME, memory_mib=N, steps_in_flight=N, adopt",
    .accepts =
        "auto,serial,file-per-process,baton,collective,reduced-blocking,brigade,gather,adopt,"
        "writers=,files=,unit_kib=,alignment_kib=,stripe_count=,memory_mib=,steps_in_flight=,"
        "exchange=none,exchange="
        "shared-memory,"
        "exchange=message,exchange=brigade,exchange=gather",
});
