// SPDX-License-Identifier: Apache-2.0
// Loops with a given ratio of computing to writing, with each method of writing, and the model's
// result for each round.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/engine/write_target.hpp"
#include "bench/engine/writers.hpp"
#include "bench/frame/benchmark.hpp"

namespace forebay::bench::engine {

/// The methods that are run in each round.
enum class WriteMethods : std::uint8_t {
  kBasic,  ///< synchronous, and with Forebay
  kAll,    ///< also with glibc's asynchronous I/O, and with a thread
};

struct GainOptions {
  std::string id;    ///< for progress
  double ratio = 1;  ///< C/W
  std::uint64_t count = 16;
  std::uint64_t buffer_bytes = 16_MiB;
  unsigned rounds = 5;
  WriteMethods methods = WriteMethods::kBasic;
};

/// Results: for each method and round the time of the loop and of its computation. C and W are
/// those of the synchronous run of that round; the model's time is for two buffers.
class GainRounds {
 public:
  GainRounds(std::uint64_t count, std::map<std::string, std::vector<LoopTimes>> times)
      : count_(count), times_(std::move(times)) {}

  bool has(const std::string& method) const { return times_.contains(method); }
  /// T_model / T of each round: 1 is the maximum of overlap.
  Summary efficiency(const std::string& method) const;
  /// Summary of the ratios of times within each round.
  Summary over_synchronous(const std::string& method, double LoopTimes::* time) const;
  /// The measured C/W: median over all rounds.
  double ratio() const;
  /// The model's gain for C and W: median over all rounds.
  double model_gain() const;

 private:
  double compute_s(std::size_t round) const;
  double write_s(std::size_t round) const;
  double model_s(std::size_t round) const;

  std::uint64_t count_;
  std::map<std::string, std::vector<LoopTimes>> times_;
};

inline constexpr const char* kSynchronous = "synchronous";
inline constexpr const char* kForebay = "forebay";
inline constexpr const char* kAio = "glibc aio";
inline constexpr const char* kThread = "thread";

/// Seconds to write one buffer to the target, without other work.
double write_seconds(const WriteTarget& target, std::uint64_t buffer_bytes);

GainRounds run_gain(Context& context,
                    Runtime& runtime,
                    const WriteTarget& target,
                    double write_s,
                    const GainOptions& options);

}  // namespace forebay::bench::engine
