// SPDX-License-Identifier: Apache-2.0
// Loops with one ratio of computing to writing, in all ways of writing them, and what the model
// says of each round.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/engine/places.hpp"
#include "bench/engine/writers.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// The ways that are run in each round.
enum class Ways : std::uint8_t {
  kOurs,  ///< synchronously and with Forebay
  kAll,   ///< with glibc's asynchronous I/O and a thread beside
};

struct GainOptions {
  std::string id;    ///< for progress
  double ratio = 1;  ///< C/W
  std::uint64_t count = 16;
  std::uint64_t buffer_bytes = 16_MiB;
  unsigned rounds = 5;
  Ways ways = Ways::kOurs;
};

/// What came of it: for each way and round the time of the loop and of its computing, C and W of
/// the synchronous run of that round, and the model's time for two buffers.
class GainRounds {
 public:
  void add(const std::string& way, const LoopTimes& times) { times_[way].push_back(times); }
  /// Forgets the round that was there to warm up.
  void forget_first();
  void set_count(std::uint64_t count) { count_ = count; }

  bool has(const std::string& way) const { return times_.contains(way); }
  /// T_model / T of each round: 1 is all that overlap can give.
  Summary efficiency(const std::string& way) const;
  /// Of the times within each round.
  Summary over_synchronous(const std::string& way) const;
  /// Of the computing within each round.
  Summary compute_over_synchronous(const std::string& way) const;
  /// (C + W) / ... as it was: C/W in the middle of all rounds.
  double ratio() const;
  /// The model's gain for C and W of all rounds.
  double model_gain() const;

 private:
  double compute_s(std::size_t round) const;
  double write_s(std::size_t round) const;
  double model_s(std::size_t round) const;

  std::uint64_t count_ = 0;
  std::map<std::string, std::vector<LoopTimes>> times_;
};

inline constexpr const char* kSynchronous = "synchronous";
inline constexpr const char* kForebay = "forebay";
inline constexpr const char* kAio = "glibc aio";
inline constexpr const char* kThread = "thread";

/// Seconds that one buffer takes to be written there, nothing else being done.
Result<double> write_seconds(Place& place, std::uint64_t buffer_bytes);

Result<GainRounds> run_gain(
    Context& context, Runtime& runtime, Place& place, double write_s, const GainOptions& options);

}  // namespace forebay::bench::engine
