// SPDX-License-Identifier: Apache-2.0
#include "bench/foresight/replay.hpp"

#include <algorithm>
#include <atomic>
#include <latch>
#include <span>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/frame/clock.hpp"
#include "bench/frame/file_partition.hpp"
#include "tools/probe/page_cache.hpp"

namespace forebay::bench::foresight {

namespace {

std::span<const trace::Access> timed(const Replay& replay) {
  return std::span(replay.reads).subspan(replay.before);
}

std::vector<std::byte> buffer_for(std::span<const trace::Access> reads) {
  return std::vector<std::byte>(std::ranges::max(reads, {}, &trace::Access::size).size);
}

Result<Descriptor> open_file(const Replay& replay) {
  Descriptor file(::open(replay.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) return file;
  return failure(system_error({.operation = "open", .path = replay.path.string()}, errno));
}

Status pread_all(int file, const trace::Access& access, std::span<std::byte> into) {
  const auto got = ::pread(file, into.data(), into.size(), static_cast<off_t>(access.offset));
  if (got == static_cast<ssize_t>(into.size())) return {};
  return failure(system_error({.operation = "pread", .offset_bytes = access.offset}, EIO));
}

/// Reads at most 16 KiB apart as one request of at most 128 KiB, like the kernel's readahead.
Stream merge_neighbors(std::span<const trace::Access> reads) {
  Stream merged;
  for (const trace::Access& access : reads) {
    trace::Access* const last = merged.empty() ? nullptr : &merged.back();
    const bool is_neighbor = last != nullptr && access.offset >= last->end() &&
                             access.offset <= last->end() + 16_KiB &&
                             access.end() <= last->offset + 128_KiB;
    if (is_neighbor)
      last->size = access.end() - last->offset;
    else
      merged.push_back(access);
  }
  return merged;
}

void advise(int file, const Replay& replay, int advice) {
  if (advice != POSIX_FADV_WILLNEED) {
    ::posix_fadvise(file, 0, 0, advice);
    return;
  }
  for (const auto& [offset, size, time] : replay.reads)
    ::posix_fadvise(file, static_cast<off_t>(offset), static_cast<off_t>(size), advice);
}

constexpr std::uint64_t kChainReadBytes = 1024;

/// The offset of the read after one that returned `word`. Words are their offsets. The recurrence
/// visits all cells in an irregular order.
std::uint64_t next_in_chain(std::uint64_t word, std::uint64_t file_bytes) {
  constexpr std::uint64_t kCellBytes = 64_KiB;
  return (word / kCellBytes * 1664525 + 1013904223) % (file_bytes / kCellBytes) * kCellBytes;
}

}  // namespace

Stream chain(std::uint64_t file_bytes, std::size_t reads) {
  Stream stream;
  for (std::uint64_t offset = 0; stream.size() < reads; offset = next_in_chain(offset, file_bytes))
    stream.push_back({offset, kChainReadBytes});
  return stream;
}

NextRead next_of_chain(const Session& session, std::size_t reads) {
  return [session, left = reads,
          last = std::optional<std::uint64_t>()]() mutable -> std::optional<ByteRange> {
    if (left-- == 0) return std::nullopt;
    std::array<std::uint64_t, 1> word = {};
    if (last && !session.read(*last, word).wait()) return std::nullopt;
    last = last ? next_in_chain(word[0], session.extent().size) : 0;
    return ByteRange{*last, kChainReadBytes};
  };
}

Result<double> time_reads(const Replay& replay, const ReadOne& read_one) {
  std::vector<std::byte> buffer = buffer_for(replay.reads);
  double thought_s = 0;
  Stopwatch watch;
  for (std::size_t i = 0; i < replay.reads.size(); ++i) {
    if (i > 0 && i == replay.before) {
      if (auto dropped = probe::drop_cached(replay.path); !dropped) return failure(dropped.error());
      watch = {};
    }
    const auto into = std::span(buffer).first(replay.reads[i].size);
    auto done = read_one(replay.reads[i], into);
    if (done && replay.has_words) done = verify_words(into, replay.reads[i].offset);
    if (!done) return failure(done.error());
    if (i < replay.before || replay.think.count() == 0) continue;
    const Stopwatch thinking;
    std::this_thread::sleep_for(replay.think);
    thought_s += thinking.seconds();
  }
  return watch.seconds() - thought_s;
}

Result<double> time_plain(const Replay& replay, int advice) {
  Replay plain = replay;
  plain.reads.erase(plain.reads.begin(), plain.reads.end() - std::ssize(timed(replay)));
  plain.before = 0;
  Stopwatch before;
  const auto file = open_file(replay);
  if (!file) return failure(file.error());
  if (!replay.is_open_timed) before = {};
  advise(file->get(), plain, advice);
  const double before_s = before.seconds();
  const auto seconds =
      time_reads(plain, [&](const trace::Access& access, std::span<std::byte> into) {
        return pread_all(file->get(), access, into);
      });
  return seconds.map([&](double reading_s) { return before_s + reading_s; });
}

Result<double> time_ideal(const Replay& replay) {
  constexpr std::ptrdiff_t kThreads = 64;
  const auto file = open_file(replay);
  if (!file) return failure(file.error());
  ::posix_fadvise(file->get(), 0, 0, POSIX_FADV_RANDOM);
  const Stream requests = merge_neighbors(timed(replay));
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> read = 0;
  std::latch start(kThreads + 1);
  const auto read_requests = [&] {
    std::vector<std::byte> buffer = buffer_for(requests);
    start.arrive_and_wait();
    for (std::size_t i = next++; i < requests.size(); i = next++) {
      const auto into = std::span(buffer).first(requests[i].size);
      if (!pread_all(file->get(), requests[i], into)) continue;
      if (!replay.has_words || verify_words(into, requests[i].offset)) ++read;
    }
  };
  std::vector<std::jthread> threads;
  for (std::ptrdiff_t i = 0; i < kThreads; ++i)
    threads.emplace_back(read_requests);
  start.arrive_and_wait();
  const Stopwatch watch;
  threads.clear();
  if (read == requests.size()) return watch.seconds();
  return failure({.kind = ErrorClass::kIo, .operation = "read", .path = replay.path.string()});
}

Result<double> time_session(Runtime& runtime, const Replay& replay, SessionReport& report) {
  const Stopwatch opening;
  const auto file = runtime.open_file(replay.path.string()).value();
  const auto session = file.read_session({}, replay.plan).value();
  if (replay.prepare) check(replay.prepare(session, replay));
  const double before_s = replay.is_open_timed ? opening.seconds() : 0;
  auto seconds = time_reads(replay, [&](const trace::Access& access, std::span<std::byte> into) {
    auto done = session.read(access.offset, into).wait();
    return done ? Status{} : failure(done.error());
  });
  report = session.report();
  return seconds.map([&](double reading_s) { return before_s + reading_s; });
}

}  // namespace forebay::bench::foresight
