// SPDX-License-Identifier: Apache-2.0
// What the tests of the conformance suite share: a backend, a kind of file and faults make a case,
// and each test runs an Engine on all of them. For tests only.
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
inline constexpr auto kPatience = std::chrono::seconds(60);

enum class Place : std::uint8_t { kMemory, kBuffered, kDirect };

struct Case {
  std::string name;
  std::function<Result<std::unique_ptr<Backend>>()> make_backend;
  Place place = Place::kBuffered;
  std::optional<FaultPlan> faults = {};
};

inline std::ostream& operator<<(std::ostream& out, const Case& what) { return out << what.name; }

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().faults) {
      ::testing::Test::RecordProperty("seed", std::to_string(GetParam().faults->seed));
    }
    if (place() == Place::kDirect) {
      write_pattern_file(folder_ / "probe", 1);
      const auto direct = open_file(folder_ / "probe", {.access = Access::kDirect});
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

  Place place() const { return GetParam().place; }
  Engine& engine() { return *engine_; }
  void end_engine() { engine_.reset(); }

  /// Sizes and offsets of transfers are multiples of this.
  std::size_t unit() const { return place() == Place::kDirect ? 4096 : 777; }

  /// A new file with this many bytes of the pattern, opened as the case wants it.
  std::unique_ptr<File> make_file(std::uint64_t size_bytes, Intent intent = Intent::kRead) {
    const std::string name = "data" + std::to_string(file_count_++);
    if (place() == Place::kMemory) return std::make_unique<MemoryFile>(name, pattern(size_bytes));
    write_pattern_file(folder_ / name, size_bytes);
    const Access access = place() == Place::kDirect ? Access::kDirect : Access::kBuffered;
    return must_open(folder_ / name, {.intent = intent, .access = access});
  }

  /// One read for each unit of memory, tagged with its number, each of the same unit of the file.
  std::vector<Operation> reads_of_units(File& file, std::span<std::byte> memory) const {
    std::vector<Operation> reads;
    for (std::size_t piece = 0; piece < memory.size() / unit(); ++piece) {
      const std::size_t offset = piece * unit();
      reads.push_back(read_operation(file, offset, memory.subspan(offset, unit()), piece));
    }
    return reads;
  }

  /// Submits all, waiting in between when the engine is full, and gives the outcomes by tag.
  std::map<std::uint64_t, Result<std::uint64_t>> run(std::span<const Operation> operations) {
    std::map<std::uint64_t, Result<std::uint64_t>> outcomes;
    std::array<Completion, 3> completions;
    const TimePoint deadline = SteadyClock::shared().now() + kPatience;
    std::span<const Operation> left = operations;
    while (outcomes.size() < operations.size()) {
      left = left.subspan(engine().submit(left));
      const std::size_t count = engine().wait(completions, deadline);
      for (const Completion& completion : std::span(completions).first(count)) {
        EXPECT_TRUE(outcomes.emplace(completion.tag, completion.bytes).second)
            << "tag " << completion.tag << " came twice";
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

  /// How many bytes one operation moved; it must not fail.
  std::uint64_t moved(const Operation& operation) {
    const Result<std::uint64_t> bytes = run_one(operation);
    if (bytes) return *bytes;
    ADD_FAILURE() << bytes.error().message();
    return UINT64_MAX;
  }

  TemporaryFolder folder_;

 private:
  int file_count_ = 0;
  std::optional<Engine> engine_;
};

// The list of all backends and kinds of file.

inline std::vector<Case> sound_cases() {
  const auto memory = []() -> Result<std::unique_ptr<Backend>> {
    return std::make_unique<MemoryBackend>(kQueueDepth);
  };
  const auto chosen = [](BackendChoice choice) {
    return [choice] {
      return make_backend({.choice = choice, .queue_depth = kQueueDepth, .worker_count = 2});
    };
  };
  const auto threads = chosen(BackendChoice::kThreads);
  const auto ring = chosen(BackendChoice::kRing);
  const auto aio = chosen(BackendChoice::kAio);
  const auto automatic = chosen(BackendChoice::kAuto);
  return {
      {"memory_on_memory", memory, Place::kMemory},
      {"memory_on_buffered", memory, Place::kBuffered},
      {"memory_on_direct", memory, Place::kDirect},
      {"threads_on_memory", threads, Place::kMemory},
      {"threads_on_buffered", threads, Place::kBuffered},
      {"threads_on_direct", threads, Place::kDirect},
      {"ring_on_buffered", ring, Place::kBuffered},
      {"ring_on_direct", ring, Place::kDirect},
      {"aio_on_buffered", aio, Place::kBuffered},
      {"aio_on_direct", aio, Place::kDirect},
      {"auto_on_buffered", automatic, Place::kBuffered},
      {"auto_on_direct", automatic, Place::kDirect},
  };
}

inline std::vector<Case> faulty_cases() {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (Case faulty : sound_cases()) {
      if (faulty.name.starts_with("auto")) continue;  // is one of the others
      faulty.name += "_seed_" + std::to_string(seed);
      faulty.faults = FaultPlan{
          .seed = seed, .short_transfer = 0.4, .interrupted = 0.2, .try_again = 0.1, .late = 0.3};
      cases.push_back(std::move(faulty));
    }
  }
  return cases;
}

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

}  // namespace forebay::storage
