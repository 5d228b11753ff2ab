// SPDX-License-Identifier: Apache-2.0
// A user with a small memlock limit: buffers cannot be registered with the ring, one line is
// logged, and transfers return the same bytes.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/buffer_pool.hpp"
#include "storage/engine.hpp"
#include "storage/probe.hpp"
#include "storage/testing.hpp"
#include "unprivileged_user.hpp"

namespace forebay::storage {
namespace {

class CountingLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view /*line*/) noexcept override { ++lines; }
  int lines = 0;
};

/// Sets the limit of locked memory. Gives up root, which has no limit.
bool limit_memlock(rlim_t limit_bytes) {
  const rlimit limit{limit_bytes, limit_bytes};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
  return drop_root();
}

/// "as expected" on success, else what failed. Changes this process permanently.
std::string read_with_little_memlock(File& file) {
  if (!limit_memlock(1 << 20)) return "the limit could not be set";
  CountingLog log;
  auto backend = make_backend({.choice = BackendChoice::kIoUring, .queue_depth = 4, .log = &log});
  if (!backend) return backend.error().message();
  const auto pool = BufferPool::create({.buffer_bytes = 1 << 20, .count = 4});
  if (!pool) return pool.error().message();
  Engine engine(std::move(*backend));
  if (engine.register_buffers((*pool)->arena())) return "the buffers were registered";
  if (engine.register_buffers((*pool)->arena()))
    return "the buffers were registered by the second call";
  if (log.lines != 1) return "there were " + std::to_string(log.lines) + " log lines";
  const std::span<std::byte> into = (*pool)->arena().first(100'000);
  const Operation read = read_operation(file, 0, into, 1);
  engine.submit({&read, 1});
  std::array<Completion, 1> completions;
  if (engine.wait(completions, std::nullopt) != 1) return "the read did not complete";
  if (!completions[0].bytes) return completions[0].bytes.error().message();
  return matching_pattern(into, 0) == into.size() ? "as expected" : "the bytes are wrong";
}

/// Changes this process permanently.
std::string choose_without_memlock() {
  if (!limit_memlock(0)) return "the limit could not be set";
  CountingLog log;
  const auto backend = make_backend({.queue_depth = 64, .log = &log});
  if (!backend) return backend.error().message();
  // Kernels before 5.12, and some later ones, charge the ring to the limit too.
  const int lines_expected = (*backend)->name() == "io_uring" ? 0 : 1;
  return log.lines == lines_expected ? "as expected" : "the wrong number of log lines";
}

TEST(MemlockDeathTest, no_memlock_still_has_a_backend) {
  const auto run = [] {
    std::fprintf(stderr, "%s\n", choose_without_memlock().c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "as expected");
}

TEST(MemlockDeathTest, little_memlock_logs_one_line_and_transfers_work) {
  if (!probe_backends().is_ring_available) GTEST_SKIP() << probe_backends().ring_reason;
  const TemporaryDirectory directory;
  write_pattern_file(directory / "data", 100'000);
  const auto file = must_open(directory / "data");
  const auto run = [&] {
    std::fprintf(stderr, "%s\n", read_with_little_memlock(*file).c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "as expected");
}

}  // namespace
}  // namespace forebay::storage
