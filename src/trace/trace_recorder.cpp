// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_recorder.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "base/wall_clock.hpp"

namespace forebay::trace {
namespace {

/// The ring that this thread used last. Has no destructor, so it is valid until the thread ends.
struct LastRing {
  std::uint64_t recorder = 0;
  TraceRing* ring = nullptr;
  bool is_thread_ending = false;
};
constinit thread_local LastRing last_ring;

struct OwnRing {
  std::uint64_t recorder = 0;
  std::shared_ptr<TraceRing> ring;
};

/// The rings of one thread, one for each recorder.
class OwnRings {
 public:
  ~OwnRings() {
    last_ring = {.is_thread_ending = true};
    for (const OwnRing& own : rings_)
      own.ring->close();
  }
  TraceRing* find(std::uint64_t recorder) const noexcept {
    const auto found = std::ranges::find(rings_, recorder, &OwnRing::recorder);
    return found == rings_.end() ? nullptr : found->ring.get();
  }
  void add(std::uint64_t recorder, std::shared_ptr<TraceRing> ring) {
    // Rings of recorders that no longer exist.
    std::erase_if(rings_, [](const OwnRing& own) { return own.ring.use_count() == 1; });
    rings_.push_back({recorder, std::move(ring)});
  }

 private:
  std::vector<OwnRing> rings_;
};
thread_local OwnRings own_rings;

std::uint64_t next_recorder_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// 0 if the duration is negative.
std::uint64_t nanoseconds(TimePoint::duration duration) noexcept {
  const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

}  // namespace

Result<std::shared_ptr<TraceRecorder>> TraceRecorder::start(std::unique_ptr<storage::File> file,
                                                            Options options) {
  auto writer = TraceWriter::create(std::move(file), wall_clock_ns());
  if (!writer) return failure(writer.error());
  const std::shared_ptr<TraceRecorder> recorder(
      new TraceRecorder(std::move(*writer), std::move(options)), detail::OriginDeleter());
  auto thread = start_service_thread("forebay-trace", [raw = recorder.get()] { raw->run(); });
  if (!thread) return failure(thread.error());
  recorder->thread_ = std::move(*thread);
  return recorder;
}

TraceRecorder::TraceRecorder(TraceWriter writer, Options options)
    : options_(std::move(options)),
      id_(next_recorder_id()),
      start_(SteadyClock::shared().now()),
      writer_(std::move(writer)) {}

TraceRecorder::~TraceRecorder() { static_cast<void>(stop()); }

std::uint16_t TraceRecorder::add_file(const FileInfo& file) {
  if (!origin_.is_current()) return kFileUnknown;
  const std::lock_guard lock(mutex_);
  if (file_count_ == kFilesMax) return kFileUnknown;
  new_files_.push_back(file);
  return static_cast<std::uint16_t>(file_count_++);
}

void TraceRecorder::record(const TracedCall& call) {
  if (!origin_.is_current()) return;
  TraceRing* const ring = last_ring.recorder == id_ ? last_ring.ring : find_ring();
  if (ring != nullptr)
    ring->push(make_record(call));
  else
    lost_.fetch_add(1, std::memory_order_relaxed);
}

/// Null if a trace can have no more sources, or if this thread destroys its variables.
TraceRing* TraceRecorder::find_ring() {
  if (last_ring.is_thread_ending) return nullptr;
  TraceRing* ring = own_rings.find(id_);
  if (ring == nullptr) {
    auto added = add_ring();
    if (added == nullptr) return nullptr;
    ring = added.get();
    own_rings.add(id_, std::move(added));
  }
  last_ring.recorder = id_;
  last_ring.ring = ring;
  return ring;
}

std::shared_ptr<TraceRing> TraceRecorder::add_ring() {
  const std::lock_guard lock(mutex_);
  if (has_ended_ || source_count_ == kSourcesMax) return nullptr;
  auto ring = std::make_shared<TraceRing>();
  Source source{ring, options_.process};
  source.info.thread = static_cast<std::uint64_t>(::gettid());
  source.number = source_count_++;
  sources_.push_back(std::move(source));
  return ring;
}

TraceRecord TraceRecorder::make_record(const TracedCall& call) const noexcept {
  TraceRecord record{.offset = call.offset,
                     .size = std::min(call.size, kTraceNumberMax),
                     .begin_ns = nanoseconds(call.begin - start_),
                     .file = call.file < file_count_.load() ? call.file : kFileUnknown,
                     .operation = call.operation,
                     .flags = static_cast<std::uint8_t>(call.flags & kFlagsAll)};
  const std::uint64_t duration_ns = nanoseconds(call.end - call.begin);
  record.duration_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(duration_ns, UINT32_MAX));
  if (record.offset > kTraceNumberMax - record.size) {
    record.offset = 0;
    record.flags |= kFlagOffsetUnknown;
  }
  return record;
}

void TraceRecorder::run() {
  std::unique_lock lock(mutex_);
  bool is_last = false;
  while (!is_last && outcome_) {
    is_last = stopping_.wait_for(lock, options_.interval, [this] { return is_stopping_; });
    lock.unlock();
    outcome_ = drain();
    lock.lock();
  }
  has_ended_ = true;
  sources_.clear();
  new_files_.clear();
}

/// Writes the content of all rings. The order matters: a record is in a ring only after its file
/// was added, so files that are taken after the content include those of the content.
Status TraceRecorder::drain() {
  std::vector<Drained> all;
  {
    const std::lock_guard lock(mutex_);
    for (const Source& source : sources_)
      all.push_back({source, {}});
  }
  for (Drained& drained : all)
    drained.content = drained.source.ring->content();
  std::vector<FileInfo> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(new_files_);
  }
  for (const FileInfo& file : files)
    if (const auto added = writer_.add_file(file); !added) return failure(added.error());
  for (const Drained& drained : all)
    if (const Status written = write(drained); !written) return written;
  return writer_.flush();
}

Status TraceRecorder::write(const Drained& drained) {
  const auto& [source, content] = drained;
  if (source.number == written_sources_) {
    const auto added = writer_.add_source(source.info);
    if (!added) return failure(added.error());
    ++written_sources_;
  }
  FOREBAY_ASSERT(source.number < written_sources_);
  lost_.fetch_add(content.lost, std::memory_order_relaxed);
  Status written = writer_.append(source.number, content.first, content.lost);
  if (written) written = writer_.append(source.number, content.second);
  source.ring->release(content);
  if (content.is_last) remove_source(source.number);
  return written;
}

void TraceRecorder::remove_source(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [&](const Source& source) { return source.number == number; });
}

Status TraceRecorder::stop() {
  if (const Status current = origin_.check("stop a trace"); !current) return current;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

}  // namespace forebay::trace
