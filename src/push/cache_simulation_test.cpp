// SPDX-License-Identifier: Apache-2.0
// Page fault rates: without prediction those of the table of the server-push slides, with
// predictors at most theirs; and the counters of small streams that can be checked by hand.
#include "push/cache_simulation.hpp"

#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "push/markov_predictor.hpp"
#include "push/run_predictor.hpp"
#include "push/testing.hpp"
#include "trace/access_patterns.hpp"

namespace forebay::push {
namespace {

std::shared_ptr<const trace::Signature> signature(std::string_view text) {
  auto parsed = trace::parse_signature(text);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return std::make_shared<trace::Signature>(std::move(*parsed));
}

std::shared_ptr<const trace::Signature> pattern(std::string_view name) {
  auto found = trace::access_pattern(name);
  EXPECT_TRUE(found) << found.error().message();
  return std::make_shared<trace::Signature>(std::move(*found));
}

Stream stream_of(std::shared_ptr<const trace::Signature> known) {
  Stream stream;
  for (trace::SignatureCursor cursor(std::move(known)); !cursor.is_done(); cursor.advance())
    stream.push_back(cursor.current());
  return stream;
}

/// LU in which each step reads the next slab, then all slabs before it completely.
Stream lu_of_full_slabs() {
  return stream_of(
      signature("read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 524544)}}"));
}

double fault_percent(const Stream& stream, Predictor* predictor = nullptr) {
  const CacheCounts counts = simulate_cache(stream, {}, predictor);
  return 100 * static_cast<double>(counts.faults) / static_cast<double>(counts.reads);
}

TEST(CacheSimulation, base_rates_of_strides_are_those_of_the_slides) {
  for (const auto& [stride, percent] :
       {std::pair(4096U, 6.5), {8192U, 12.5}, {16384U, 25.0}, {32768U, 50.0}, {65536U, 100.0}})
    EXPECT_DOUBLE_EQ(fault_percent(strided(200, stride, 1024)), percent) << stride;
}

TEST(CacheSimulation, base_rates_of_nested_strides_and_btio_are_those_of_the_slides) {
  for (const auto& [name, percent] :
       {std::pair("nested.4k", 12.5), {"nested.16k", 50.0}, {"nested.64k", 100.0}, {"btio", 100.0}})
    EXPECT_NEAR(fault_percent(stream_of(pattern(name))), percent, 1) << name;
}

TEST(CacheSimulation, base_rate_of_lu_with_full_slabs_is_that_of_the_slides) {
  const Stream stream = lu_of_full_slabs();
  EXPECT_EQ(stream.size(), 8253U);
  EXPECT_NEAR(fault_percent(stream), 75.6, 1);
}

TEST(CacheSimulation, base_rate_of_lu_with_shrinking_slabs_is_lower) {
  EXPECT_NEAR(fault_percent(stream_of(pattern("lu"))), 56.8, 1);
}

TEST(CacheSimulation, runs_have_lower_rates_than_the_slides) {
  for (const auto& [name, percent] : {std::pair("stride.4k", 2.0),
                                      {"stride.64k", 2.0},
                                      {"nested.64k", 4.0},
                                      {"lu", 0.5},
                                      {"btio", 10.0}}) {
    RunPredictor predictor;
    EXPECT_LE(fault_percent(stream_of(pattern(name)), &predictor), percent) << name;
  }
}

TEST(CacheSimulation, stored_signature_leaves_no_fault) {
  for (const std::string_view name : trace::access_pattern_names()) {
    SignaturePredictor predictor(pattern(name));
    const CacheCounts counts = simulate_cache(stream_of(pattern(name)), {}, &predictor);
    EXPECT_EQ(counts.faults, 0U) << name;
    EXPECT_EQ(counts.misses, 0U) << name;
    EXPECT_EQ(counts.pages_wasted, 0U) << name;
  }
}

TEST(CacheSimulation, predictions_replace_reads_of_pages) {
  const Stream stream = strided(100, 65536, 1024);
  RunPredictor predictor;
  const CacheCounts counts = simulate_cache(stream, {.lookahead = 4}, &predictor);
  EXPECT_EQ(counts.reads, 100U);
  EXPECT_EQ(counts.faults, counts.pages_read);
  EXPECT_EQ(counts.misses, counts.faults);
  EXPECT_EQ(counts.pages_read + counts.pages_pushed, 100 + counts.pages_wasted);
  EXPECT_EQ(counts.pages_wasted, 3U);  // those predicted behind the end
}

/// Always predicts the same bytes.
class FixedPredictor final : public Predictor {
 public:
  explicit FixedPredictor(const Prediction& prediction) : prediction_(prediction) {}
  std::string_view name() const noexcept override { return "fixed"; }
  void observe(const trace::Access& /*access*/) override {}
  std::size_t predict(std::span<Prediction> into) const override {
    into[0] = prediction_;
    return 1;
  }
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  Prediction prediction_;
};

TEST(CacheSimulation, wrong_predictions_evict_and_are_wasted) {
  FixedPredictor predictor({.offset = 1_MiB, .size = 128_KiB});
  const CacheCounts counts =
      simulate_cache(Stream(3, {0, 1}), {.cache_bytes = 128_KiB}, &predictor);
  EXPECT_EQ(counts.faults, 3U);  // the two predicted pages fill the cache
  EXPECT_EQ(counts.misses, 3U);
  EXPECT_EQ(counts.pages_wasted, counts.pages_pushed);
}

TEST(CacheSimulation, read_across_a_page_boundary_faults_once) {
  const CacheCounts counts = simulate_cache(Stream{{65535, 2}, {0, 1}, {131071, 1}}, {});
  EXPECT_EQ(counts.faults, 1U);
  EXPECT_EQ(counts.pages_read, 2U);
  EXPECT_EQ(counts.misses, 3U);
}

TEST(CacheSimulation, least_recently_used_page_is_evicted) {
  const Stream stream{{0, 1}, {65536, 1}, {0, 1}, {131072, 1}, {0, 1}, {65536, 1}};
  EXPECT_EQ(simulate_cache(stream, {.cache_bytes = 128_KiB}).faults, 4U);
}

TEST(CacheSimulation, huge_reads_and_predictions_take_time_for_the_cache_only) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 62U;
  FixedPredictor predictor({.offset = 0, .size = kSize});
  const CacheCounts counts = simulate_cache(Stream{{0, kSize}}, {}, &predictor);
  EXPECT_EQ(counts.faults, 1U);
  EXPECT_EQ(counts.misses, 0U);
  EXPECT_EQ(counts.pages_pushed, 512U);
  EXPECT_EQ(counts.pages_read, kSize / 65536);
}

TEST(CacheSimulation, unpredictable_reads_are_not_counted) {
  EXPECT_EQ(simulate_cache(Stream{{0, 0}, {1, ~std::uint64_t{0}}}, {}).reads, 0U);
}

TEST(SignaturePredictor, skipped_accesses_are_found_again) {
  SignaturePredictor predictor(signature("read {100 x (4096 i, 1024)}"));
  predictor.observe({.offset = std::uint64_t{5} * 4096, .size = 1024});
  std::array<Prediction, 2> next;
  ASSERT_EQ(predictor.predict(next), 2U);
  EXPECT_EQ(next[0].offset, 6U * 4096);
  EXPECT_EQ(next[1].offset, 7U * 4096);
  EXPECT_LT(next[0].confidence, 1);
}

TEST(SignaturePredictor, unknown_access_changes_only_the_confidence) {
  SignaturePredictor predictor(signature("read {100 x (4096 i, 1024)}"));
  predictor.observe({.offset = 77, .size = 1});
  Prediction next;
  ASSERT_EQ(predictor.predict({&next, 1}), 1U);
  EXPECT_EQ(next.offset, 0U);
  EXPECT_LT(next.confidence, 1);
}

TEST(SignaturePredictor, predictions_end_with_the_signature) {
  SignaturePredictor predictor(signature("read {3 x (4096 i, 1024)}"));
  std::array<Prediction, 8> next;
  EXPECT_EQ(predictor.predict(next), 3U);
}

}  // namespace
}  // namespace forebay::push
