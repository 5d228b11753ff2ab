// SPDX-License-Identifier: Apache-2.0
// Draws of kernels: known answers of the generator, and moments of each family.
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernel.h"

namespace {

constexpr int kDraws = 40'000;

fk_draw_at place(std::uint32_t writer, std::uint32_t step = 0) {
  return {.seed = 7, .stream = 0, .writer = writer, .step = step, .call = 0};
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of(const fk_distribution& distribution) {
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const fk_draw_at at = place(i);
    const double value = fk_draw(&distribution, &at);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean)};
}

fk_distribution family(fk_family kind, double first, double second = 0) {
  fk_distribution made{};
  made.family = kind;
  made.drawn = FK_EACH_CALL;
  made.parameters[0] = first;
  made.parameters[1] = second;
  return made;
}

TEST(Draw, random_bits_are_the_known_answers_of_philox) {
  struct Known {
    fk_draw_at at;
    std::uint64_t first;
    std::uint64_t second;
  };
  const Known all[] = {{{0, 0, 0, 0, 0}, 0x6627e8d5e169c58d, 0xbc57ac4c9b00dbd8},
                       {{UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
                        0x408f276d41c83b0e,
                        0xa20bc7c66d5451fd},
                       {{0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                        0xd16cfe0994fdcceb,
                        0x5001e42024126ea1}};
  for (const Known& known : all) {
    double uniforms[2];
    fk_uniforms(&known.at, 0, uniforms);
    EXPECT_EQ(uniforms[0], (static_cast<double>(known.first >> 11U) + 0.5) * 0x1p-53);
    EXPECT_EQ(uniforms[1], (static_cast<double>(known.second >> 11U) + 0.5) * 0x1p-53);
  }
}

TEST(Draw, normal_quantiles_agree_with_tables) {
  EXPECT_NEAR(fk_normal_quantile(0.5), 0, 1e-16);
  EXPECT_NEAR(fk_normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(fk_normal_quantile(0.999), 3.090232306167813, 1e-13);
  EXPECT_NEAR(fk_normal_quantile(1e-20), -9.262340089798408, 1e-12);
}

TEST(Draw, each_family_has_its_mean_and_deviation) {
  struct Case {
    fk_distribution distribution;
    Moments expected;
  };
  const Case cases[] = {{family(FK_CONSTANT, 5), {5, 0}},
                        {family(FK_UNIFORM, 10, 20), {15, 10 / std::sqrt(12.0)}},
                        {family(FK_NORMAL, 100, 8), {100, 8}},
                        {family(FK_EXPONENTIAL, 100, 0), {100, 100}},
                        {family(FK_EXPONENTIAL, 100, 60), {100, 40}},
                        {family(FK_LOGNORMAL, 100, 50), {100, 50}},
                        {family(FK_GAMMA, 100, 50), {100, 50}},
                        {family(FK_GAMMA, 100, 200), {100, 200}}};
  for (const Case& one : cases) {
    const Moments found = moments_of(one.distribution);
    SCOPED_TRACE(one.distribution.family);
    EXPECT_NEAR(found.mean, one.expected.mean, 0.02 * one.expected.mean);
    EXPECT_NEAR(found.deviation, one.expected.deviation, 0.05 * one.expected.deviation + 1e-9);
  }
}

TEST(Draw, tables_and_mixtures_have_their_shares) {
  const double values[] = {1, 2, 3};
  const double weights[] = {0.5, 0.75, 1};
  fk_distribution table = family(FK_TABLE, 0);
  table.count = 3;
  table.values = values;
  table.weights = weights;
  EXPECT_NEAR(moments_of(table).mean, 1.75, 0.02);
  const fk_distribution parts[] = {family(FK_CONSTANT, 0), family(FK_NORMAL, 100, 1)};
  const double shares[] = {0.9, 1};
  fk_distribution mixture = family(FK_MIXTURE, 0);
  mixture.count = 2;
  mixture.parts = parts;
  mixture.weights = shares;
  EXPECT_NEAR(moments_of(mixture).mean, 10, 0.5);
}

TEST(Draw, quantiles_are_interpolated) {
  const double values[] = {0, 10, 100};
  fk_distribution distribution = family(FK_QUANTILES, 0);
  distribution.count = 3;
  distribution.values = values;
  EXPECT_NEAR(moments_of(distribution).mean, 0.5 * 5 + 0.5 * 55, 0.5);
}

TEST(Draw, walkers_keep_their_average_and_return_to_it_at_a_balance) {
  fk_distribution walkers = family(FK_WALKERS, 64, 1000);
  walkers.parameters[2] = walkers.parameters[3] = 0.05;
  walkers.balance = 10;
  double sum = 0;
  int distinct = 0;
  for (std::uint32_t writer = 0; writer < 2000; ++writer) {
    const fk_draw_at balanced = place(writer, 20);
    EXPECT_EQ(fk_draw(&walkers, &balanced), 64'000);
    const fk_draw_at later = place(writer, 29);
    const double bytes = fk_draw(&walkers, &later);
    sum += bytes;
    distinct += bytes != 64'000 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 2000, 64'000, 1000);
  EXPECT_GT(distinct, 1500);
}

TEST(Draw, number_depends_only_on_what_drawn_names) {
  fk_distribution distribution = family(FK_NORMAL, 100, 8);
  const auto draw = [&](fk_drawn drawn, std::uint32_t step, std::uint32_t call) {
    distribution.drawn = drawn;
    const fk_draw_at at{.seed = 1, .stream = 3, .writer = 2, .step = step, .call = call};
    return fk_draw(&distribution, &at);
  };
  EXPECT_NE(draw(FK_EACH_CALL, 1, 0), draw(FK_EACH_CALL, 1, 1));
  EXPECT_EQ(draw(FK_EACH_STEP, 1, 0), draw(FK_EACH_STEP, 1, 1));
  EXPECT_NE(draw(FK_EACH_STEP, 1, 0), draw(FK_EACH_STEP, 2, 0));
  EXPECT_EQ(draw(FK_EACH_WRITER, 1, 0), draw(FK_EACH_WRITER, 2, 5));
}

TEST(Content, bytes_at_any_place_agree_with_the_whole) {
  std::vector<unsigned char> whole(20'000);
  fk_fill(whole.data(), whole.size(), 3, 5, 0);
  for (std::uint64_t offset : {0ULL, 1ULL, 7ULL, 8ULL, 4091ULL, 4096ULL, 4099ULL, 8192ULL}) {
    for (std::uint64_t size : {0ULL, 1ULL, 5ULL, 8ULL, 4096ULL, 9001ULL}) {
      std::vector<unsigned char> part(size + 1, 0xff);
      fk_fill(part.data(), size, 3, 5, offset);
      part.pop_back();
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(offset);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), begin)) << offset << " " << size;
      EXPECT_EQ(fk_first_mismatch(part.data(), size, 3, 5, offset), size);
    }
  }
}

TEST(Content, restamped_bytes_are_those_of_the_new_step) {
  for (const std::uint64_t offset : {0ULL, 3ULL, 4091ULL, 4096ULL}) {
    std::vector<unsigned char> old(10'000);
    std::vector<unsigned char> expected(old.size());
    fk_fill(old.data(), old.size(), 1, 0, offset);
    fk_fill(expected.data(), expected.size(), 1, 1, offset);
    EXPECT_NE(old, expected);
    fk_restamp(old.data(), old.size(), 1, 1, offset);
    EXPECT_EQ(old, expected) << offset;
  }
}

TEST(Content, first_wrong_byte_is_found) {
  std::vector<unsigned char> bytes(10'000);
  fk_fill(bytes.data(), bytes.size(), 0, 2, 12);
  bytes[5001] ^= 1U;
  EXPECT_EQ(fk_first_mismatch(bytes.data(), bytes.size(), 0, 2, 12), 5001U);
  EXPECT_EQ(fk_first_mismatch(bytes.data(), 5001, 0, 2, 12), 5001U);
  EXPECT_LT(fk_first_mismatch(bytes.data(), bytes.size(), 1, 2, 12), 8U);
}

}  // namespace
