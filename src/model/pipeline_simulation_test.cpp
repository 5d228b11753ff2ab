// SPDX-License-Identifier: Apache-2.0
// The simulation compared with a second implementation, written as in the page, and with invariants
// that hold for all times.
#include "model/pipeline_simulation.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::model {
namespace {

constexpr double kSimulationRounding = 1e-9;

std::vector<BufferTimes> random_times(std::mt19937_64& random) {
  std::exponential_distribution<double> seconds(1);
  std::vector<BufferTimes> times(1 + random() % 80);
  const double slower = static_cast<double>(1 + random() % 8);
  for (BufferTimes& one : times) {
    one.compute_s = seconds(random);
    one.write_s = slower * seconds(random);
    if (random() % 10 == 0) one.write_s *= 20;
  }
  return times;
}

PipelineResources random_resources(std::mt19937_64& random) {
  const std::uint64_t buffers = 1 + random() % 10;  // argument evaluation order is unspecified
  return {.buffers = buffers, .devices = 1 + random() % 6};
}

/// The end of the run, from all preceding writes for each buffer.
double end_of_schedule(const std::vector<BufferTimes>& times, PipelineResources resources) {
  std::vector<double> ends;  // of writes, in order
  std::vector<double> device_free(resources.devices, 0);
  double computed_s = 0;
  double last_s = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i >= resources.buffers) {
      std::ranges::sort(ends);
      computed_s = std::max(computed_s, ends[i - resources.buffers]);
    }
    computed_s += times[i].compute_s;
    double& device = *std::ranges::min_element(device_free);
    device = std::max(device, computed_s) + times[i].write_s;
    ends.push_back(device);
    last_s = std::max(last_s, device);
  }
  return last_s;
}

TEST(PipelineSimulation, follows_the_schedule_of_the_page) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<BufferTimes> times = random_times(random);
    const PipelineResources resources = random_resources(random);
    const Overlap run = simulate_pipeline(times, resources);
    ASSERT_NEAR(run.total_s, end_of_schedule(times, resources), kSimulationRounding * run.total_s)
        << i;
  }
}

TEST(PipelineSimulation, accounts_for_all_of_the_time) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 2000; ++i) {
    const Overlap run = simulate_pipeline(random_times(random), random_resources(random));
    ASSERT_NEAR(run.computing_s + run.waiting_s + run.draining_s, run.total_s,
                kSimulationRounding * run.total_s);
    ASSERT_GE(run.waiting_s, 0);
    ASSERT_GE(run.draining_s, 0);
    ASSERT_LE(run.total_s, run.synchronous_s * (1 + kSimulationRounding))
        << "overlap costs nothing here";
  }
}

TEST(PipelineSimulation, one_buffer_is_sequential) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const Overlap run = simulate_pipeline(random_times(random), {.buffers = 1, .devices = 3});
    ASSERT_NEAR(run.total_s, run.synchronous_s, kSimulationRounding * run.total_s);
  }
}

TEST(PipelineSimulation, more_buffers_or_devices_never_take_longer) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<BufferTimes> times = random_times(random);
    const PipelineResources few = random_resources(random);
    const double few_s = simulate_pipeline(times, few).total_s;
    const double near = kSimulationRounding * few_s;
    ASSERT_LE(simulate_pipeline(times, {few.buffers + 1, few.devices}).total_s, few_s + near) << i;
    ASSERT_LE(simulate_pipeline(times, {few.buffers, few.devices + 1}).total_s, few_s + near) << i;
  }
}

TEST(PipelineSimulation, later_write_may_release_its_buffer_first) {
  // The second write ends at 3, long before the first, and the third computation uses its buffer.
  const std::vector<BufferTimes> times{{1, 10}, {1, 1}, {1, 1}};
  const Overlap run = simulate_pipeline(times, {.buffers = 2, .devices = 2});
  EXPECT_EQ(run.waiting_s, 1);
  EXPECT_EQ(run.total_s, 11);
}

TEST(PipelineSimulation, empty_run_takes_no_time) {
  EXPECT_EQ(simulate_pipeline({}, {.buffers = 2, .devices = 1}).total_s, 0);
}

}  // namespace
}  // namespace forebay::model
