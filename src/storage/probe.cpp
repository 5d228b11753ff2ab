// SPDX-License-Identifier: Apache-2.0
// Probes the machine's features and falls back from ring to threads.
#include "storage/probe.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include <sys/resource.h>

#include "storage/aio_backend.hpp"
#include "storage/buffer_pool.hpp"
#include "storage/ring_backend.hpp"
#include "storage/threads_backend.hpp"

namespace forebay::storage {

namespace {

constexpr std::size_t kProbeBufferBytes = std::size_t{2} << 20U;

std::optional<int> read_number(const char* path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path, "re"), close);
  int number = 0;
  if (!file || std::fscanf(file.get(), "%d", &number) != 1) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> memlock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

Status probe_registration() {
  const auto ring = make_ring_backend(1, silent_log());
  if (!ring) return failure(ring.error());
  const auto pool = BufferPool::create({.buffer_bytes = kProbeBufferBytes, .count = 1});
  if (!pool) return failure(pool.error());
  const Status registered = (*ring)->register_buffers((*pool)->arena());
  (*ring)->unregister_buffers((*pool)->arena());
  return registered;
}

Result<std::unique_ptr<Backend>> make_threads(const BackendOptions& options) {
  return make_threads_backend({.queue_depth = options.queue_depth,
                               .worker_count = options.worker_count,
                               .worker_cpus = options.worker_cpus});
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options) {
  LogSink& log = options.log != nullptr ? *options.log : silent_log();
  if (options.choice == BackendChoice::kThreads) return make_threads(options);
  if (options.choice == BackendChoice::kAio) return make_aio_backend(options.queue_depth);
  auto ring = make_ring_backend(options.queue_depth, log);
  if (ring || options.choice == BackendChoice::kIoUring) return ring;
  auto threads = make_threads(options);
  if (threads) {
    log.write(LogLevel::kInfo, ring.error().message() + "; transfers use " +
                                   std::to_string(options.worker_count) + " threads instead");
  }
  return threads;
}

BackendProbe probe_backends() {
  BackendProbe found;
  const Result<std::string> ring = probe_ring();
  found.is_ring_available = ring.has_value();
  found.ring_reason = ring ? *ring : ring.error().message();
  found.io_uring_disabled = read_number("/proc/sys/kernel/io_uring_disabled");
  found.memlock_limit_bytes = memlock_limit();
  const Status registered = probe_registration();
  found.can_register_buffers = registered.has_value();
  if (!registered) found.buffers_reason = registered.error().message();
  return found;
}

}  // namespace forebay::storage
