// SPDX-License-Identifier: Apache-2.0
// What prediction costs on the thread that reads, and how well it predicts the time of a read.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "bench/foresight/streams.hpp"
#include "bench/frame/clock.hpp"
#include "push/access_stream.hpp"
#include "push/arrival_time.hpp"

namespace forebay::bench::foresight {

namespace {

constexpr std::size_t kAccesses = 200'000;
constexpr unsigned kCostRounds = 9;
constexpr double kBytesPerKiB = 1024;
constexpr std::size_t kPredictions = 2048;  ///< as in a session
constexpr std::uint64_t kLoadsMax = 48;     ///< of a session on the machine nfs

enum class Ahead { kNone, kMany };

/// Random offsets: no predictor ever predicts them, so all of them observe each access.
Stream unpredictable() {
  std::mt19937_64 random(5);
  Stream stream(kAccesses);
  for (trace::Access& access : stream)
    access = {.offset = random() >> 24U, .size = 1024};
  return stream;
}

Stream strided() {
  Stream stream(kAccesses);
  for (std::size_t i = 0; i < kAccesses; ++i)
    stream[i] = {.offset = i * 65536, .size = 1024};
  return stream;
}

/// Microseconds of an access on the thread that reads: the clock, the prediction, and the choice of
/// pushes, of which each becomes one load. Fails unless pushes are ahead at the end as expected.
Result<double> time_access(const Stream& stream, Ahead expected) {
  push::AccessStream accesses;
  std::vector<push::Prediction> buffer(kPredictions);
  const Stopwatch watch;
  for (const trace::Access& access : stream) {
    if (!accesses.observe(access, SteadyClock::shared(), read::AccessOutcome::kHit))
      accesses.ahead().clear();
    for (const push::Prediction& next : accesses.next_pushes(buffer, kLoadsMax, {}))
      accesses.ahead().push(next.offset, next.size, 1);
  }
  const double seconds = watch.seconds();
  const bool has_ahead = accesses.ahead().loads() > kLoadsMax / 2;
  if (has_ahead != (expected == Ahead::kMany))
    return failure({.operation = "time an access", .cause = "the stream is in another state"});
  return seconds * 1e6 / static_cast<double>(stream.size());
}

Status add_times(Context& context) {
  return context.compare(
      {.rows = {{"foresight.learn_us", value_of("learning"), Goal{0.2}, "us"},
                {"foresight.locked_us", value_of("locked"), Goal{0.08}, "us"}},
       .rounds = kCostRounds,
       .variants = {{"learning",
                     {},
                     [stream = unpredictable()] { return time_access(stream, Ahead::kNone); }},
                    {"locked",
                     {},
                     [stream = strided()] { return time_access(stream, Ahead::kMany); }}},
       .peers = {{}}});
}

Status add_state(Context& context) {
  const std::size_t bytes = push::AccessStream().state_bytes();
  context.add({"foresight.state_kib",
               "KiB",
               summarize({static_cast<double>(bytes) / kBytesPerKiB}),
               Goal{64},
               {}});
  return {};
}

/// The gap before access number i, in ns.
using Gap = double (*)(std::size_t i);

/// Median of the error of the predicted gap / gap, with 10 % noise.
double median_error(Gap gap, std::uint64_t seed) {
  constexpr std::size_t kGaps = 500;
  std::mt19937_64 random(seed);
  push::ArrivalTime arrivals;
  std::vector<double> errors;
  for (std::size_t i = 0; i < kGaps; ++i) {
    const double noise = static_cast<double>(random() % 2001) / 10'000 - 0.1;
    const double actual = gap(i) * (1 + noise);
    if (const auto next = arrivals.predict(1))
      errors.push_back(std::abs(static_cast<double>(next->time_ns) - actual) / actual);
    arrivals.observe(std::llround(actual));
  }
  return summarize(std::move(errors)).median;
}

Status add_when(Context& context) {
  const std::array<std::pair<const char*, Gap>, 3> gaps = {{
      {"periodic", [](std::size_t) { return 1e6; }},
      {"drifting", [](std::size_t i) { return 1e6 * (1 + static_cast<double>(i) / 50); }},
      {"bursty", [](std::size_t i) { return i % 8 == 7 ? 5e6 : 2e5; }},
  }};
  std::vector<Peer> peers;
  for (const auto& [name, gap] : gaps) {
    std::vector<double> errors;
    for (std::uint64_t seed = 1; seed <= kCostRounds; ++seed)
      errors.push_back(median_error(gap, seed));
    peers.push_back({name, "1", summarize(std::move(errors))});
  }
  const auto worst =
      std::ranges::max_element(peers, {}, [](const Peer& peer) { return peer.measured.median; });
  context.add({"foresight.when", "1", worst->measured, Goal{0.2}, peers});
  return {};
}

}  // namespace

std::vector<RowGroup> cost_rows() {
  return {{{"foresight.when"}, add_when},
          {{"foresight.state_kib"}, add_state},
          {{"foresight.learn_us", "foresight.locked_us"}, add_times}};
}

}  // namespace forebay::bench::foresight
