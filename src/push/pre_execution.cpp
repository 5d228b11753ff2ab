// SPDX-License-Identifier: Apache-2.0
#include "push/pre_execution.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "base/service_thread.hpp"

namespace forebay::push {

namespace {

/// As intersect(), without branches: a read that misses is compared with the whole queue.
bool shares_bytes(const ByteRange& a, const ByteRange& b) noexcept {
  return static_cast<int>(a.offset - b.offset < b.size) |
         static_cast<int>(b.offset - a.offset < a.size);
}

/// A counter that threads wait for.
class Event {
 public:
  std::uint32_t count() const noexcept { return count_.load(); }
  void wait(std::uint32_t count) const noexcept { count_.wait(count); }
  void signal() noexcept {
    count_.fetch_add(1);
    count_.notify_all();
  }

 private:
  std::atomic<std::uint32_t> count_{0};
};

thread_local bool runs_function = false;

}  // namespace

/// What the function's thread uses: it can outlive the PreExecution. The queue has one producer,
/// that thread, and one consumer at a time, under mutex_. Ranges have numbers, which may wrap
/// around; those from `begin` to `end` are in the queue.
struct PreExecution::Shared {
  explicit Shared(const Options& options)
      : mode(options.mode), extent(options.extent), slots(std::bit_ceil(options.ahead_max)) {}

  ByteRange& slot(std::uint32_t number) noexcept { return slots[number & (slots.size() - 1)]; }
  bool has_room(std::size_t size_max) const noexcept { return end - begin <= size_max; }

  /// False if the function must not be called again.
  bool wait_for_room() const {
    if (!has_room(slots.size() - 1)) {
      for (auto count = room.count(); !has_room(slots.size() / 2) && !is_cancelled;
           count = room.count())
        room.wait(count);
    }
    return !is_cancelled;
  }

  /// Called by the function's thread. False if too many ranges were dropped.
  bool add(ByteRange read) {
    if (read.empty() || !extent.contains(read)) {
      ++dropped;
      return ++drops_in_a_row < kDropsMax;
    }
    drops_in_a_row = 0;
    slot(end) = read;
    ++end;
    produced.signal();
    return true;
  }

  const PreExecutionMode mode;
  const ByteRange extent;
  const detail::OriginProcess origin;
  std::vector<ByteRange> slots;
  std::atomic<std::uint32_t> begin{0};
  std::atomic<std::uint32_t> end{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<bool> is_cancelled{false};
  std::atomic<bool> has_ended{false};  ///< set after `end` and `failure`
  std::atomic<int> idle_error{0};      ///< errno of the refusal of kIdle
  ErrorDetails failure = {};           ///< has a cause if the function failed
  unsigned drops_in_a_row = 0;
  Event room;      ///< the queue became shorter, or is_cancelled
  Event produced;  ///< the queue became longer, has_ended, idle_error or is_cancelled
  std::promise<void> exited;
  std::atomic<int> threads_left{2};
};

Result<detail::OriginPointer<PreExecution>> PreExecution::start(NextRead next_read,
                                                                Options options) {
  detail::OriginPointer<PreExecution> made(new PreExecution(std::move(options)));
  auto pusher = start_service_thread("forebay-push", [raw = made.get()] {
    raw->push_ranges();
    --raw->shared_->threads_left;
  });
  if (!pusher) return failure(pusher.error());
  made->push_thread_ = std::move(*pusher);
  auto function = start_service_thread(
      "fb-preexecution", [shared = made->shared_, next_read = std::move(next_read)]() mutable {
        run_function(*shared, next_read);
        next_read = nullptr;
        shared->exited.set_value();
        --shared->threads_left;
      });
  if (!function) return failure(function.error());
  made->function_thread_ = std::move(*function);
  return made;
}

PreExecution::PreExecution(Options options)
    : options_(std::move(options)), shared_(std::make_shared<Shared>(options_)) {}

PreExecution::~PreExecution() {
  cancel();
  if (push_thread_.joinable()) push_thread_.join();
  if (!function_thread_.joinable()) return;
  if (function_thread_.get_id() == std::this_thread::get_id()) {
    function_thread_.detach();
    return;
  }
  const TimePoint limit =
      return_deadline_.value_or(std::chrono::steady_clock::now() + kReturnTimeout);
  if (shared_->exited.get_future().wait_until(limit) == std::future_status::ready) {
    function_thread_.join();
    return;
  }
  function_thread_.detach();
  report({.kind = ErrorClass::kLimit,
          .cause = "the function has not returned for 1 s after the end of the session; it keeps a "
                   "thread until it returns"});
}

bool PreExecution::is_function_thread() noexcept { return runs_function; }

void PreExecution::run_function(Shared& shared, const NextRead& next_read) {
  runs_function = true;
  if (shared.mode == PreExecutionMode::kIdle) {
    shared.idle_error = use_idle_scheduling();
    shared.produced.signal();
  }
  try {
    while (shared.wait_for_room()) {
      const std::optional<ByteRange> read = next_read();
      // The function may have called fork(): the child has none of the other threads.
      if (!shared.origin.is_current()) return;
      if (!read) break;
      if (shared.add(*read)) continue;
      shared.failure = {.kind = ErrorClass::kInvalidArgument,
                        .cause = std::to_string(kDropsMax) +
                                 " ranges in a row are empty or outside of the session's extent"};
      break;
    }
  } catch (const std::exception& error) {
    shared.failure = {.kind = ErrorClass::kException,
                      .cause = "the function threw: " + to_printable(error.what())};
  } catch (...) {
    shared.failure = {.kind = ErrorClass::kException,
                      .cause = "the function threw an object that is no std::exception"};
  }
  shared.has_ended = true;
  shared.produced.signal();
}

/// Body of the thread that pushes.
void PreExecution::push_ranges() {
  for (bool has_ended = false; !has_ended && !shared_->is_cancelled;) {
    const std::uint32_t count = shared_->produced.count();
    has_ended = shared_->has_ended;
    if (const int error = shared_->idle_error.exchange(0); error != 0) {
      report({.kind = ErrorClass::kUnsupported,
              .error_number = error,
              .cause = "SCHED_IDLE is refused; the function competes with the program"});
    }
    while (const auto range = next_unpushed())
      options_.push(*range);
    if (!has_ended) shared_->produced.wait(count);
  }
  if (shared_->has_ended && !shared_->failure.cause.empty()) report(shared_->failure);
}

std::optional<ByteRange> PreExecution::next_unpushed() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t begin = shared_->begin;
  const std::uint32_t end = shared_->end;
  // What the program has read needs no push.
  if (pushed_end_ - begin > end - begin) pushed_end_ = begin;
  if (pushed_end_ == end || shared_->is_cancelled) return std::nullopt;
  return shared_->slot(pushed_end_++);
}

void PreExecution::observe(ByteRange read) {
  if (read.empty() || !origin_.is_current() || shared_->is_cancelled) return;
  const std::lock_guard lock(mutex_);
  const std::uint32_t end = shared_->end;
  std::uint32_t at = shared_->begin;
  if (at == end && (end == 0 || shared_->has_ended)) return;
  while (at != end && !shares_bytes(shared_->slot(at), read))
    ++at;
  if (at == end) {
    is_overtaken_ = ++misses_ == kMissesMax;
    if (is_overtaken_) cancel();
    return;
  }
  misses_ = 0;
  std::uint64_t done = 0;  // a read may complete several ranges that follow each other in the file
  for (; at != end && shared_->slot(at).end() <= read.end(); ++at) {
    if (shared_->slot(at).offset < done) break;
    done = shared_->slot(at).end();
  }
  shared_->begin = at;
  if (shared_->has_room(shared_->slots.size() / 2)) shared_->room.signal();
}

std::size_t PreExecution::predict(std::span<Prediction> into) const {
  if (!origin_.is_current() || shared_->is_cancelled) return 0;
  const std::lock_guard lock(mutex_);
  const std::uint32_t begin = shared_->begin;
  const std::size_t size = std::min<std::size_t>(into.size(), shared_->end - begin);
  for (std::uint32_t i = 0; i < size; ++i) {
    const ByteRange& read = shared_->slot(begin + i);
    into[i] = {.offset = read.offset, .size = read.size, .confidence = 1};
  }
  return size;
}

void PreExecution::cancel() {
  if (!origin_.is_current()) return;
  shared_->is_cancelled = true;
  shared_->room.signal();
  shared_->produced.signal();
}

std::uint64_t PreExecution::dropped_count() const noexcept { return shared_->dropped; }

bool PreExecution::has_ended() const noexcept { return shared_->threads_left == 0; }

void PreExecution::report(ErrorDetails details) const {
  details.operation = "pre-execute the reads of";
  details.path = options_.path;
  options_.report(Error(std::move(details)));
}

}  // namespace forebay::push
