// SPDX-License-Identifier: Apache-2.0
// Streams of known patterns with the hints that `forebay hints extract` writes for the sources in
// tests/data/sources. A test in python/tests compares these files with the sources.
#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "push/access_stream.hpp"
#include "push/hint_file.hpp"
#include "push/testing.hpp"
#include "trace/access_patterns.hpp"
#include "trace/signature_cursor.hpp"

namespace forebay::push {
namespace {

Stream pattern(std::string_view name) {
  const auto signature =
      std::make_shared<const trace::Signature>(trace::access_pattern(name).value());
  Stream stream;
  for (trace::SignatureCursor cursor(signature); !cursor.is_done(); cursor.advance())
    stream.push_back(cursor.current());
  return stream;
}

std::vector<FileHint> hints_of(const std::string& source) {
  return read_hint_file(FOREBAY_SOURCE_DIR "/tests/data/sources/" + source + ".hints").value();
}

struct SteppedClock final : Clock {
  TimePoint now() const noexcept override { return time; }
  TimePoint time{};
};

/// Reads that were not pushed before. Each push is loaded at once.
std::size_t misses(const Stream& reads, std::span<const FileHint> hints) {
  AccessStream stream;
  for (const FileHint& hint : hints)
    if (ParametricPredictor(hint.parametric).can_begin_with(reads.front()))
      stream.add_hint(HintOrigin::kSource, hint.parametric);
  SteppedClock clock;
  std::array<Prediction, 1024> buffer;
  std::size_t missed = 0;
  for (const trace::Access& read : reads) {
    clock.time += std::chrono::microseconds(1);
    const bool had_ahead = !stream.ahead().is_empty();
    const bool held = stream.observe(read, clock, read::AccessOutcome::kHit);
    missed += had_ahead && held ? 0 : 1;
    if (!held) stream.ahead().clear();
    for (const Prediction& next : stream.next_pushes(buffer, 48, {}))
      stream.ahead().push(next.offset, next.size, 1);
  }
  return missed;
}

/// The misses of the hint alone, and with all hints of the source.
void expect_misses(std::string_view name,
                   const std::string& source,
                   std::size_t hint,
                   std::size_t most) {
  const Stream reads = pattern(name);
  const auto hints = hints_of(source);
  ParametricPredictor predictor(hints.at(hint).parametric);
  EXPECT_LE(outcome_of(predictor, reads).misses, most) << name;
  EXPECT_LE(misses(reads, hints), most) << name;
}

TEST(SourceHints, stride_has_at_most_4_misses) {
  for (const std::string_view name : {"stride.4k", "stride.16k", "stride.32k", "stride.64k"}) {
    expect_misses(name, "strided", 0, 4);
    expect_misses(name, "strided", 1, 4);
  }
}

TEST(SourceHints, nested_stride_has_at_most_6_misses) {
  for (const std::string_view name : {"nested.4k", "nested.16k", "nested.64k"})
    expect_misses(name, "nested", 0, 6);
}

TEST(SourceHints, lu_has_at_most_12_misses) { expect_misses("lu", "lu", 0, 12); }

TEST(SourceHints, dumps_have_at_most_4_misses) { expect_misses("btio", "btio", 0, 4); }

TEST(SourceHints, rows_have_at_most_4_misses_for_each_cell) {
  expect_misses("btio_simple", "btio", 1, 3 * 4 * 4);
}

TEST(SourceHints, rows_of_one_cell_have_at_most_3_misses) {
  Stream reads = pattern("btio_simple");
  reads.resize(26 * 26);
  ParametricPredictor predictor(hints_of("btio").at(2).parametric);
  EXPECT_LE(outcome_of(predictor, reads).misses, 3U);
}

}  // namespace
}  // namespace forebay::push
