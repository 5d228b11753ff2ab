// SPDX-License-Identifier: Apache-2.0
// Names are bound by few accesses, predictions are exact then, and signatures that do not fit are
// dropped.
#include "push/parametric_predictor.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "push/testing.hpp"

namespace forebay::push {
namespace {

std::shared_ptr<const ParametricSignature> parsed(const std::string& text,
                                                  std::vector<std::string> parameters) {
  return std::make_shared<const ParametricSignature>(
      parse_parametric_signature(text, std::move(parameters)).value());
}

std::uint64_t misses(const std::string& text,
                     std::vector<std::string> parameters,
                     const Stream& stream) {
  ParametricPredictor predictor(parsed(text, std::move(parameters)));
  return outcome_of(predictor, stream).misses;
}

TEST(ParametricPredictor, stride_is_bound_by_two_accesses) {
  EXPECT_EQ(misses("read {n x (start + stride i, size)}", {"n", "start", "stride", "size"},
                   strided(200, 65536, 1024)),
            2U);
}

TEST(ParametricPredictor, known_stride_is_bound_by_the_first_access) {
  EXPECT_EQ(misses("read {n x (start + 65536 i, 1024)}", {"n", "start"}, strided(200, 65536, 1024)),
            1U);
}

TEST(ParametricPredictor, unknown_inner_count_is_bound_where_the_inner_loop_ends) {
  ParametricPredictor predictor(
      parsed("read {n x {m x (outer i + inner j, size)}}", {"n", "m", "outer", "inner", "size"}));
  Stream stream;
  for (std::uint64_t i = 0; i < 50; ++i)
    for (std::uint64_t j = 0; j < 7; ++j)
      stream.push_back({i * 100'000 + j * 4096, 512});
  EXPECT_EQ(outcome_of(predictor, stream).misses, 3U);
}

TEST(ParametricPredictor, product_is_bound_where_the_inner_loop_ends) {
  Stream stream;
  for (std::uint64_t i = 0; i < 50; ++i)
    for (std::uint64_t j = 0; j < 10; ++j)
      stream.push_back({(i * 20 + j) * 4096, 4096});
  EXPECT_EQ(misses("read {n x {m x (2 m size i + size j, size)}}", {"n", "m", "size"}, stream), 2U);
  EXPECT_EQ(
      misses("read {n x {m x (8 m width i + 4 width j, 4 width)}}", {"n", "m", "width"}, stream),
      2U);
}

TEST(ParametricPredictor, sum_of_names_needs_no_values_of_its_terms) {
  Stream stream = strided(50, 1000, 10);
  for (trace::Access& access : stream)
    access.offset += 777;
  EXPECT_EQ(misses("read {n x (header + rank block + 1000 i, 10)}",
                   {"n", "header", "rank", "block"}, stream),
            1U);
}

TEST(ParametricPredictor, lu_is_bound_by_two_accesses) {
  EXPECT_EQ(misses("read {n x (2 slab + slab i, slab), {2 + i x (slab j, width - shrink j)}}",
                   {"n", "slab", "width", "shrink"}, lu(126)),
            3U);
}

TEST(ParametricPredictor, signature_begins_anew_after_its_end_with_other_values) {
  Stream stream;
  for (std::uint64_t call = 0; call < 20; ++call)
    for (std::uint64_t i = 0; i < 16; ++i)
      stream.push_back({call * call * 1'000'000 + i * (call + 1) * 512, 512});
  EXPECT_LE(misses("read {16 x (start + stride i, 512)}", {"start", "stride"}, stream), 40U);
}

TEST(ParametricPredictor, stream_that_does_not_fit_drops_the_signature) {
  const Stream stream = scattered(100, 1'000'000);
  ParametricPredictor strides(
      parsed("read {n x (start + stride i, 4096)}", {"n", "start", "stride"}));
  EXPECT_LE(outcome_of(strides, stream).predicted, 8U);
  EXPECT_TRUE(strides.is_dropped());
  ParametricPredictor constant(parsed("read {n x (512 i, 512)}", {"n"}));
  EXPECT_EQ(outcome_of(constant, stream).predicted, 0U);
  EXPECT_TRUE(constant.is_dropped());
}

TEST(ParametricPredictor, begin_is_checked_against_constants) {
  const ParametricPredictor predictor(parsed("read (0, 64), {n x (64 + s i, s)}", {"n", "s"}));
  EXPECT_TRUE(predictor.can_begin_with({0, 64}));
  EXPECT_FALSE(predictor.can_begin_with({0, 65}));
  EXPECT_FALSE(predictor.can_begin_with({64, 64}));
}

TEST(ParametricPredictor, signature_without_accesses_predicts_nothing) {
  ParametricPredictor predictor(parsed("read {n x {0 x (0, 8)}}", {"n"}));
  EXPECT_EQ(outcome_of(predictor, strided(20, 8, 8)).predicted, 0U);
  EXPECT_TRUE(predictor.is_dropped());
}

TEST(ParametricPredictor, overflow_is_no_prediction) {
  ParametricPredictor predictor(parsed("read {n x (9223372036854775807 i, 1)}", {"n"}));
  predictor.observe({0, 1});
  std::array<Prediction, 4> next;
  EXPECT_EQ(predictor.predict(next), 0U);
}

TEST(ParametricPredictor, state_is_within_the_limit) {
  const ParametricPredictor predictor(parsed("read {n x {m x (s i + 8 j, s)}}", {"n", "m", "s"}));
  EXPECT_LE(predictor.state_bytes(), kPredictorStateBytesMax);
}

}  // namespace
}  // namespace forebay::push
