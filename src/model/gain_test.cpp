// SPDX-License-Identifier: Apache-2.0
// The formulas compared with simulated schedules of thousands of random pipelines, with their
// limits, and with the numbers of docs/guides/gain.md.
#include "model/gain.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "model/pipeline_simulation.hpp"

namespace forebay::model {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Overlap simulated_overlap(const Pipeline& p) {
  const std::vector<BufferTimes> times(p.count, {p.compute_s, p.write_s});
  return simulate_pipeline(times, {.buffers = p.buffers, .devices = p.devices});
}

double total_s(const Pipeline& pipeline) { return overlap(pipeline)->total_s; }

/// Pipelines of all kinds: with few and many buffers and devices. Times are equal, 0 or integer
/// multiples more often than by chance.
class RandomPipelines {
 public:
  Pipeline next() {
    Pipeline p{.compute_s = seconds(), .write_s = seconds()};
    if (p.compute_s + p.write_s == 0) p.write_s = 1;
    p.count = 1 + random_() % 60;
    p.buffers = 1 + random_() % 12;
    p.devices = 1 + random_() % 8;
    if (random_() % 8 == 0) p.buffers = kUnlimitedBuffers;
    return p;
  }

 private:
  double seconds() {
    if (random_() % 2 == 0) return static_cast<double>(random_() % 6);
    return std::uniform_real_distribution<double>(0, 10)(random_);
  }

  std::mt19937_64 random_{23};
};

std::string text_of_pipeline(const Pipeline& p) {
  return "C " + std::to_string(p.compute_s) + ", W " + std::to_string(p.write_s) + ", n " +
         std::to_string(p.count) + ", b " + std::to_string(p.buffers) + ", N " +
         std::to_string(p.devices);
}

TEST(Overlap, matches_the_simulated_schedule) {
  RandomPipelines pipelines;
  for (int i = 0; i < 20'000; ++i) {
    const Pipeline p = pipelines.next();
    const Overlap truth = simulated_overlap(p);
    const Result<Overlap> formula = overlap(p);
    ASSERT_TRUE(formula.has_value()) << text_of_pipeline(p);
    const double near = kRounding * truth.synchronous_s;
    ASSERT_NEAR(formula->synchronous_s, truth.synchronous_s, near) << text_of_pipeline(p);
    ASSERT_NEAR(formula->total_s, truth.total_s, near) << text_of_pipeline(p);
    ASSERT_NEAR(formula->computing_s, truth.computing_s, near) << text_of_pipeline(p);
    ASSERT_NEAR(formula->waiting_s, truth.waiting_s, near) << text_of_pipeline(p);
    ASSERT_NEAR(formula->draining_s, truth.draining_s, near) << text_of_pipeline(p);
  }
}

TEST(Overlap, one_buffer_gives_no_overlap) {
  RandomPipelines pipelines;
  for (int i = 0; i < 1000; ++i) {
    Pipeline p = pipelines.next();
    p.buffers = 1;
    const Overlap run = *overlap(p);
    const double n = static_cast<double>(p.count);
    ASSERT_NEAR(run.total_s, n * (p.compute_s + p.write_s), kRounding * n) << text_of_pipeline(p);
    ASSERT_NEAR(run.gain(), 1, kRounding) << text_of_pipeline(p);
  }
}

TEST(Overlap, two_buffers_and_one_device_take_the_longer_time) {
  RandomPipelines pipelines;
  for (int i = 0; i < 1000; ++i) {
    Pipeline p = pipelines.next();
    p.devices = 1;
    p.buffers = 2 + static_cast<std::uint64_t>(i % 4);
    const double c = p.compute_s;
    const double w = p.write_s;
    const double expected = c + w + static_cast<double>(p.count - 1) * std::max(c, w);
    ASSERT_NEAR(total_s(p), expected, kRounding * expected) << text_of_pipeline(p);
  }
}

TEST(Overlap, many_devices_take_their_share_of_writing) {
  RandomPipelines pipelines;
  for (int i = 0; i < 1000; ++i) {
    Pipeline p = pipelines.next();
    p.buffers = p.devices + 1;
    const double share_s = p.write_s / static_cast<double>(p.devices);
    const double limit_s =
        p.compute_s + p.write_s + static_cast<double>(p.count - 1) * std::max(share_s, p.compute_s);
    const double near = kRounding * limit_s;
    ASSERT_LE(total_s(p), limit_s + near) << text_of_pipeline(p);
    ASSERT_GE(total_s(p), limit_s - p.write_s - near) << text_of_pipeline(p);
    if ((p.count - 1) % p.devices != 0) continue;
    ASSERT_NEAR(total_s(p), limit_s, near) << text_of_pipeline(p);
  }
}

TEST(Overlap, more_devices_do_not_help_if_computing_dominates) {
  const Pipeline one{.compute_s = 10, .write_s = 1, .count = 100, .buffers = 9};
  Pipeline eight = one;
  eight.devices = 8;
  EXPECT_EQ(total_s(one), 1001);
  EXPECT_EQ(total_s(eight), 1001);
}

TEST(Overlap, more_buffers_or_devices_never_take_longer) {
  RandomPipelines pipelines;
  for (int i = 0; i < 5000; ++i) {
    const Pipeline p = pipelines.next();
    const double near = kRounding * total_s(p);
    Pipeline more = p;
    if (p.buffers != kUnlimitedBuffers) ++more.buffers;
    ASSERT_LE(total_s(more), total_s(p) + near) << text_of_pipeline(p);
    ++more.devices;
    ASSERT_LE(total_s(more), total_s(p) + near) << text_of_pipeline(p);
  }
}

TEST(Overlap, one_buffer_more_than_devices_is_sufficient) {
  RandomPipelines pipelines;
  for (int i = 0; i < 1000; ++i) {
    Pipeline p = pipelines.next();
    p.buffers = p.devices + 1;
    const double enough_s = total_s(p);
    p.buffers = kUnlimitedBuffers;
    ASSERT_EQ(total_s(p), enough_s) << text_of_pipeline(p);
  }
}

TEST(Overlap, largest_pipeline_is_finite) {
  const Pipeline p{.compute_s = kPipelineSecondsMax,
                   .write_s = kPipelineSecondsMax,
                   .count = kPipelineCountMax,
                   .buffers = kUnlimitedBuffers,
                   .devices = std::numeric_limits<std::uint64_t>::max()};
  const Overlap run = *overlap(p);
  EXPECT_NEAR(run.gain(), 2, kRounding);
  EXPECT_GE(run.draining_s, 0);
}

TEST(Overlap, invalid_pipeline_is_an_error) {
  const Pipeline good{.compute_s = 1, .write_s = 1};
  EXPECT_TRUE(overlap(good).has_value());
  const auto refused = [](const Pipeline& p) {
    return error_class(overlap(p)) == ErrorClass::kInvalidArgument &&
           error_class(gain_bound(p)) == ErrorClass::kInvalidArgument &&
           error_class(advise(p)) == ErrorClass::kInvalidArgument &&
           error_class(efficiency(1, p)) == ErrorClass::kInvalidArgument;
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double wrong : {-1.0, kNaN, kInfinite, kPipelineSecondsMax * 2}) {
    EXPECT_TRUE(refused({.compute_s = wrong, .write_s = 1})) << wrong;
    EXPECT_TRUE(refused({.compute_s = 1, .write_s = wrong})) << wrong;
  }
  EXPECT_TRUE(refused({.compute_s = 0, .write_s = 0}));
  EXPECT_TRUE(refused({.compute_s = 1, .write_s = 1, .count = 0}));
  EXPECT_TRUE(refused({.compute_s = 1, .write_s = 1, .count = kPipelineCountMax + 1}));
  EXPECT_TRUE(refused({.compute_s = 1, .write_s = 1, .buffers = 0}));
  EXPECT_TRUE(refused({.compute_s = 1, .write_s = 1, .devices = 0}));
}

TEST(Overlap, error_states_valid_values) {
  const auto wrong = overlap({.compute_s = -2, .write_s = 1});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(
      message_contains(wrong.error(), "computing a buffer is -2.000000 seconds; give 0 to"));
}

TEST(GainBound, is_approached_and_never_exceeded) {
  RandomPipelines pipelines;
  for (int i = 0; i < 2000; ++i) {
    Pipeline p = pipelines.next();
    const double bound = *gain_bound(p);
    ASSERT_LE(overlap(p)->gain(), bound * (1 + kRounding)) << text_of_pipeline(p);
    p.count = 1'000'000'000;
    p.buffers = kUnlimitedBuffers;
    ASSERT_NEAR(overlap(p)->gain(), bound, 1e-6) << text_of_pipeline(p);
  }
}

TEST(Efficiency, is_model_time_divided_by_run_time) {
  const Pipeline p{.compute_s = 1, .write_s = 1, .count = 99};
  EXPECT_NEAR(*efficiency(100, p), 1, kRounding);
  EXPECT_NEAR(*efficiency(198, p), 1 / overlap(p)->gain(), kRounding) << "without overlap";
  EXPECT_GT(*efficiency(90, p), 1);
  for (const double wrong : {0.0, -1.0, kNaN, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(error_class(efficiency(wrong, p)), ErrorClass::kInvalidArgument) << wrong;
  }
}

/// The advice, by trying all numbers in order.
std::uint64_t min_buffers_linear(Pipeline p) {
  p.buffers = kUnlimitedBuffers;
  const double enough_s = kNearBestFactor * total_s(p);
  for (p.buffers = 1; total_s(p) > enough_s;)
    ++p.buffers;
  return p.buffers;
}

std::uint64_t min_devices_linear(Pipeline p) {
  p.buffers = kUnlimitedBuffers;
  p.devices = p.count;
  const double enough_s = kNearBestFactor * total_s(p);
  for (p.devices = 1; total_s(p) > enough_s;)
    ++p.devices;
  return p.devices;
}

TEST(PipelineAdvice, is_the_first_number_near_the_best) {
  RandomPipelines pipelines;
  for (int i = 0; i < 3000; ++i) {
    Pipeline p = pipelines.next();
    const PipelineAdvice advice = *advise(p);
    ASSERT_EQ(advice.buffers, min_buffers_linear(p)) << text_of_pipeline(p);
    ASSERT_EQ(advice.devices, min_devices_linear(p)) << text_of_pipeline(p);
    p.devices = advice.devices;
    ASSERT_EQ(advice.devices_buffers, min_buffers_linear(p)) << text_of_pipeline(p);
  }
}

TEST(PipelineAdvice, is_two_buffers_for_one_device_and_no_idle_device) {
  const Pipeline p{.compute_s = 1, .write_s = 4, .count = 10'000};
  EXPECT_EQ(*advise(p), (PipelineAdvice{.buffers = 2, .devices = 4, .devices_buffers = 5}));
  const Pipeline idle{.compute_s = 4, .write_s = 1, .count = 10'000};
  EXPECT_EQ(*advise(idle), (PipelineAdvice{.buffers = 2, .devices = 1, .devices_buffers = 2}));
  const Pipeline no_writing{.compute_s = 1, .write_s = 0, .count = 10'000};
  EXPECT_EQ(advise(no_writing)->buffers, 1U);
}

/// A row of the page: arguments and results.
struct DocumentedRow {
  Pipeline pipeline;
  double synchronous_s = 0;
  double total_s = 0;
  double gain = 0;
};

/// Whether a line is such a row; then `row` is set.
bool read_row(const std::string& line, DocumentedRow& row) {
  double compute_ms = 0;
  double write_ms = 0;
  Pipeline& p = row.pipeline;
  const int numbers = std::sscanf(line.c_str(),
                                  "| %lf ms | %lf ms | %" SCNu64 " | %" SCNu64 " | %" SCNu64
                                  " | %lf s | %lf s | %lf |",
                                  &compute_ms, &write_ms, &p.count, &p.buffers, &p.devices,
                                  &row.synchronous_s, &row.total_s, &row.gain);
  p.compute_s = compute_ms / 1000;
  p.write_s = write_ms / 1000;
  return numbers == 8;
}

std::vector<DocumentedRow> documented_rows() {
  std::vector<DocumentedRow> rows;
  std::ifstream page(FOREBAY_SOURCE_DIR "/docs/guides/gain.md");
  DocumentedRow row;
  for (std::string line; std::getline(page, line);) {
    if (read_row(line, row)) rows.push_back(row);
  }
  return rows;
}

TEST(GainPage, has_the_numbers_of_the_formulas) {
  const std::vector<DocumentedRow> rows = documented_rows();
  EXPECT_EQ(rows.size(), 7U);
  for (const DocumentedRow& row : rows) {
    const Overlap run = *overlap(row.pipeline);
    EXPECT_NEAR(run.synchronous_s, row.synchronous_s, kRounding) << text_of_pipeline(row.pipeline);
    EXPECT_NEAR(run.total_s, row.total_s, 0.005) << text_of_pipeline(row.pipeline);
    EXPECT_NEAR(run.gain(), row.gain, 0.005) << text_of_pipeline(row.pipeline);
  }
}

}  // namespace
}  // namespace forebay::model
