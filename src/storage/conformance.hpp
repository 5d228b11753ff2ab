// SPDX-License-Identifier: Apache-2.0
// Shared code of the conformance suite: a case is a backend, a kind of file and faults, and each
// test runs an Engine on all cases. For tests only.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/engine.hpp"
#include "storage/faulty.hpp"
#include "storage/memory_backend.hpp"
#include "storage/memory_file.hpp"
#include "storage/probe.hpp"
#include "storage/testing.hpp"

namespace forebay::storage {

inline constexpr std::size_t kQueueDepth = 8;
inline constexpr auto kTestTimeout = std::chrono::seconds(60);

enum class FileKind : std::uint8_t { kMemory, kBuffered, kDirect };

struct BackendCase {
  std::string name;
  std::function<Result<std::unique_ptr<Backend>>()> make_backend;
  FileKind file_kind = FileKind::kBuffered;
  std::optional<FaultPlan> faults = {};
};

inline std::ostream& operator<<(std::ostream& out, const BackendCase& what) {
  return out << what.name;
}

class Conformance : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override {
    if (GetParam().faults) {
      ::testing::Test::RecordProperty("seed", std::to_string(GetParam().faults->seed));
    }
    if (file_kind() == FileKind::kDirect) {
      write_pattern_file(directory_ / "probe", 1);
      const auto direct = open_file(directory_ / "probe", {.access = Access::kDirect});
      if (!direct) GTEST_SKIP() << direct.error().message();
    }
    make_engine(GetParam().faults);
  }

  /// The case's backend, with these faults if any.
  void make_engine(const std::optional<FaultPlan>& faults) {
    auto backend = GetParam().make_backend();
    if (!backend) GTEST_SKIP() << backend.error().message();
    if (faults) *backend = std::make_unique<FaultyBackend>(std::move(*backend), *faults);
    engine_.emplace(std::move(*backend), EngineOptions{.queue_depth = kQueueDepth});
  }

  FileKind file_kind() const { return GetParam().file_kind; }
  Engine& engine() { return *engine_; }
  void destroy_engine() { engine_.reset(); }

  /// Sizes and offsets of transfers are multiples of this.
  std::size_t unit_bytes() const { return file_kind() == FileKind::kDirect ? 4096 : 777; }

  /// A new file with this many bytes of the pattern, opened as the case requires.
  std::unique_ptr<File> make_file(std::uint64_t size_bytes, Intent intent = Intent::kRead) {
    const std::string name = "data" + std::to_string(file_count_++);
    if (file_kind() == FileKind::kMemory)
      return std::make_unique<MemoryFile>(name, pattern(size_bytes));
    write_pattern_file(directory_ / name, size_bytes);
    const Access access = file_kind() == FileKind::kDirect ? Access::kDirect : Access::kBuffered;
    return must_open(directory_ / name, {.intent = intent, .access = access});
  }

  /// One read for each unit of memory, with its index as the tag, from the same unit of the file.
  std::vector<Operation> reads_of_units(File& file, std::span<std::byte> memory) const {
    std::vector<Operation> reads;
    for (std::size_t piece = 0; piece < memory.size() / unit_bytes(); ++piece) {
      const std::size_t offset = piece * unit_bytes();
      reads.push_back(read_operation(file, offset, memory.subspan(offset, unit_bytes()), piece));
    }
    return reads;
  }

  /// Submits all, waits while the engine is full, and returns the outcomes by tag.
  std::map<std::uint64_t, Result<std::uint64_t>> run(std::span<const Operation> operations) {
    std::map<std::uint64_t, Result<std::uint64_t>> outcomes;
    std::array<Completion, 3> completions;
    const TimePoint deadline = SteadyClock::shared().now() + kTestTimeout;
    std::span<const Operation> left = operations;
    while (outcomes.size() < operations.size()) {
      left = left.subspan(engine().submit(left));
      const std::size_t count = engine().wait(completions, deadline);
      for (const Completion& completion : std::span(completions).first(count)) {
        EXPECT_TRUE(outcomes.emplace(completion.tag, completion.bytes).second)
            << "tag " << completion.tag << " completed twice";
      }
      if (count == 0 && SteadyClock::shared().now() >= deadline) {
        ADD_FAILURE() << outcomes.size() << " of " << operations.size() << " completed in time";
        break;
      }
    }
    EXPECT_EQ(engine().in_flight(), 0U);
    return outcomes;
  }

  Result<std::uint64_t> run_one(const Operation& operation) {
    auto outcomes = run({&operation, 1});
    EXPECT_EQ(outcomes.size(), 1U);
    return outcomes.at(operation.tag);
  }

  /// Number of bytes that one operation moved; it must not fail.
  std::uint64_t bytes_moved(const Operation& operation) {
    const Result<std::uint64_t> bytes = run_one(operation);
    if (bytes) return *bytes;
    ADD_FAILURE() << bytes.error().message();
    return UINT64_MAX;
  }

  TemporaryDirectory directory_;

 private:
  int file_count_ = 0;
  std::optional<Engine> engine_;
};

// All backends and kinds of file.

inline std::vector<BackendCase> fault_free_cases() {
  const auto memory = []() -> Result<std::unique_ptr<Backend>> {
    return std::make_unique<MemoryBackend>(kQueueDepth);
  };
  const auto chosen = [](BackendChoice choice) {
    return [choice] {
      return make_backend({.choice = choice, .queue_depth = kQueueDepth, .worker_count = 2});
    };
  };
  const auto threads = chosen(BackendChoice::kThreads);
  const auto ring = chosen(BackendChoice::kIoUring);
  const auto aio = chosen(BackendChoice::kAio);
  const auto automatic = chosen(BackendChoice::kAuto);
  return {
      {"memory_on_memory", memory, FileKind::kMemory},
      {"memory_on_buffered", memory, FileKind::kBuffered},
      {"memory_on_direct", memory, FileKind::kDirect},
      {"threads_on_memory", threads, FileKind::kMemory},
      {"threads_on_buffered", threads, FileKind::kBuffered},
      {"threads_on_direct", threads, FileKind::kDirect},
      {"io_uring_on_buffered", ring, FileKind::kBuffered},
      {"io_uring_on_direct", ring, FileKind::kDirect},
      {"aio_on_buffered", aio, FileKind::kBuffered},
      {"aio_on_direct", aio, FileKind::kDirect},
      {"auto_on_buffered", automatic, FileKind::kBuffered},
      {"auto_on_direct", automatic, FileKind::kDirect},
  };
}

inline std::vector<BackendCase> faulty_cases() {
  std::vector<BackendCase> cases;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (BackendCase faulty : fault_free_cases()) {
      if (faulty.name.starts_with("auto")) continue;  // same as another case
      faulty.name += "_seed_" + std::to_string(seed);
      faulty.faults = FaultPlan{.seed = seed,
                                .short_transfer = 0.4,
                                .interrupted = 0.2,
                                .try_again = 0.1,
                                .delayed = 0.3};
      cases.push_back(std::move(faulty));
    }
  }
  return cases;
}

inline std::string case_name(const ::testing::TestParamInfo<BackendCase>& info) {
  return info.param.name;
}

}  // namespace forebay::storage
