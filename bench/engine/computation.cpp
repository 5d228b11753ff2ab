// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/computation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "bench/frame/clock.hpp"
#include "bench/frame/statistics.hpp"

namespace forebay::bench::engine {

void BufferComputation::run(std::span<std::byte> memory) const {
  const std::size_t buffer_words = memory.size() / sizeof(std::uint64_t);
  std::uint64_t state = 1;
  for (std::uint64_t done = 0; done < words_;) {
    const std::uint64_t now = std::min<std::uint64_t>(buffer_words, words_ - done);
    for (std::uint64_t i = 0; i < now; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      std::memcpy(memory.data() + i * sizeof state, &state, sizeof state);
    }
    done += now;
  }
}

BufferComputation BufferComputation::with_duration(double seconds) {
  constexpr std::uint64_t kWords = std::uint64_t{1} << 21U;
  constexpr int kTimes = 41;
  std::vector<std::byte> memory(kWords * sizeof(std::uint64_t));
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const Stopwatch watch;
    BufferComputation(kWords).run(memory);
    times.push_back(watch.seconds());
  }
  const double second_words = static_cast<double>(kWords) / summarize(times).median;
  return BufferComputation(static_cast<std::uint64_t>(std::llround(seconds * second_words)));
}

}  // namespace forebay::bench::engine
