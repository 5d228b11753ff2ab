// SPDX-License-Identifier: Apache-2.0
// Schedules of servers, links and metadata worked out by hand, and against the recursion that a
// queue of one server obeys. Locks, faults and closed forms have files of their own.
#include "model/storage_model.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

Request read_of(ByteRange range, std::uint64_t tag) { return {.range = range, .tag = tag}; }

/// 4 KiB at 125 MB/s.
constexpr Time kTransfer{32'768};

Machine slow_path_machine() {
  Machine machine = plain_machine();
  machine.servers.front() = {.latency_us = 1000,
                             .concurrency = 2,
                             .bandwidth_mb_per_s = 125,
                             .write_latency_us = 2000,
                             .write_bandwidth_mb_per_s = 62.5};
  return machine;
}

TEST(Servers, a_request_alone_takes_latency_and_transfer) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  model.submit(us(5), read_of({0, 4_KiB}, 1));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1005) + kTransfer);
  EXPECT_EQ(recorder.finished.front().submitted, us(5));
  EXPECT_EQ(model.under_way(), 0U);
}

TEST(Servers, writing_has_costs_of_its_own) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 4_KiB}, .tag = 1});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2000) + 2 * kTransfer);
}

TEST(Servers, more_requests_than_places_wait_in_the_order_of_coming) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  for (std::uint64_t tag = 1; tag <= 4; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1000) + kTransfer);
  EXPECT_EQ(recorder.answered(2), us(1000) + 2 * kTransfer);
  EXPECT_EQ(recorder.answered(3), us(2000) + 2 * kTransfer);
  EXPECT_EQ(recorder.answered(4), us(2000) + 3 * kTransfer);
}

TEST(Servers, latency_that_does_not_overlap_takes_the_path_too) {
  Machine machine = slow_path_machine();
  machine.servers.front().latency_overlaps = false;
  StorageModel model(machine);
  Recorder recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(kEnd, recorder);
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    EXPECT_EQ(recorder.answered(tag), static_cast<int>(tag) * (us(1000) + kTransfer));
}

TEST(Servers, unequal_ones_answer_when_the_slowest_part_is_there) {
  Machine machine = plain_machine();
  machine.servers.push_back(machine.servers.front());
  machine.servers.back().latency_us = 7000;
  StorageModel model(machine);
  Recorder recorder;
  const Layout layout{.stripe_bytes = 4_KiB, .stripe_count = 2, .first_server = 0};
  model.submit(us(0), {.range = {0, 4_KiB}, .layout = layout, .tag = 1});
  model.submit(us(0), {.range = {0, 8_KiB}, .layout = layout, .tag = 2});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1000));
  EXPECT_EQ(recorder.answered(2), us(7000));
}

TEST(Servers, rounding_does_not_add_up) {
  Machine machine = plain_machine();
  machine.servers.front() = {.concurrency = 1, .bandwidth_mb_per_s = 3000};
  StorageModel model(machine);
  Recorder recorder;
  for (int i = 0; i < 3000; ++i)
    model.submit(us(0), read_of({0, 1}, 0));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1));
}

TEST(Servers, no_bytes_are_answered_at_once) {
  Machine machine = slow_path_machine();
  machine.client.link_latency_us = 50;
  StorageModel model(machine);
  Recorder recorder;
  model.submit(us(3), read_of({1_MiB, 0}, 1));
  model.advance(us(3), recorder);
  EXPECT_EQ(recorder.answered(1), us(3));
}

TEST(Links, of_a_client_take_reads_one_after_the_other_on_the_way_back) {
  Machine machine = plain_machine();
  machine.client = {.count = 2, .link_latency_us = 10, .link_bandwidth_mb_per_s = 1024};
  StorageModel model(machine);
  Recorder recorder;
  model.submit(us(0), {.client = 0, .range = {0, 1_MiB}, .tag = 1});
  model.submit(us(0), {.client = 0, .range = {0, 1_MiB}, .tag = 2});
  model.submit(us(0), {.client = 1, .range = {0, 1_MiB}, .tag = 3});
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1000 + 1024 + 10));
  EXPECT_EQ(recorder.answered(2), us(1000 + 2048 + 10));
  EXPECT_EQ(recorder.answered(3), us(1000 + 1024 + 10));
}

TEST(Links, carry_writes_before_the_server_and_beside_reads) {
  Machine machine = plain_machine();
  machine.client = {.link_bandwidth_mb_per_s = 1024};
  StorageModel model(machine);
  Recorder recorder;
  model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 2_MiB}, .tag = 1});
  model.submit(us(0), read_of({0, 1_MiB}, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(2048 + 1000));
  EXPECT_EQ(recorder.answered(2), us(1000 + 1024));
  EXPECT_EQ(model.counters(ClientId{0}).bytes_written, 2_MiB);
}

Machine metadata_machine(NameSpread spread) {
  Machine machine = plain_machine();
  machine.client.link_latency_us = 30;
  machine.metadata = {.servers = 4,
                      .concurrency = 2,
                      .spread = spread,
                      .create_us = 500,
                      .open_us = 100,
                      .stat_us = 0,
                      .unlink_us = 300};
  return machine;
}

Request operation(RequestKind kind, std::uint64_t hash, std::uint64_t tag) {
  return {.kind = kind, .name = hash, .tag = tag};
}

TEST(Metadata, a_storm_in_one_folder_waits_at_one_server) {
  StorageModel model(metadata_machine(NameSpread::kFolder));
  Recorder recorder;
  for (std::uint64_t tag = 0; tag < 64; ++tag) {
    const std::uint64_t hash = name_hash(NameSpread::kFolder, 9, std::to_string(tag));
    model.submit(us(0), operation(RequestKind::kCreate, hash, tag));
  }
  model.advance(kEnd, recorder);
  for (std::uint64_t tag = 0; tag < 64; ++tag)
    EXPECT_EQ(recorder.answered(tag), us(30 + 500 * static_cast<std::int64_t>(tag / 2 + 1)));
}

TEST(Metadata, a_storm_over_all_servers_is_as_much_faster) {
  StorageModel model(metadata_machine(NameSpread::kFile));
  Recorder recorder;
  for (std::uint64_t hash = 0; hash < 64; ++hash)
    model.submit(us(0), operation(RequestKind::kUnlink, hash, hash));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(30 + 300 * 64 / 8));
  const ServerCounters one = model.counters({ServerName::Kind::kMetadata, 3});
  EXPECT_EQ(one.requests, 16U);
  EXPECT_EQ(one.in_service_most, 2U);
  EXPECT_EQ(one.waiting_most, 14U);
  EXPECT_EQ(one.busy, us(2400));
  EXPECT_EQ(model.counters(ClientId{0}).name_operations, 64U);
}

TEST(Metadata, each_operation_has_its_cost) {
  StorageModel model(metadata_machine(NameSpread::kFile));
  Recorder recorder;
  model.submit(us(0), operation(RequestKind::kOpen, 0, 1));
  model.submit(us(0), operation(RequestKind::kStat, 1, 2));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(130));
  EXPECT_EQ(recorder.answered(2), us(30));
}

TEST(Driving, late_calls_change_no_time) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  model.submit(us(0), read_of({0, 4_KiB}, 1));
  model.submit(us(3000), read_of({0, 4_KiB}, 2));
  EXPECT_EQ(model.next_event(), us(0));
  model.advance(us(9000), recorder);
  EXPECT_EQ(recorder.answered(1), us(1000) + kTransfer);
  EXPECT_EQ(recorder.answered(2), us(4000) + kTransfer);
  EXPECT_EQ(model.next_event(), std::nullopt);
}

TEST(Driving, a_request_may_come_late_if_nothing_has_happened_since) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  model.advance(us(500), recorder);
  model.submit(us(100), read_of({0, 4_KiB}, 1));
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1100) + kTransfer);
}

TEST(Driving, a_time_before_the_last_event_counts_as_that_of_the_event) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  model.submit(us(400), read_of({0, 4_KiB}, 1));
  model.advance(us(500), recorder);
  model.submit(us(100), read_of({0, 4_KiB}, 2));
  model.advance(us(100), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  model.advance(kEnd, recorder);
  EXPECT_EQ(recorder.answered(1), us(1400) + kTransfer);
  EXPECT_EQ(recorder.answered(2), us(1400) + 2 * kTransfer);
}

TEST(Driving, counters_tell_what_is_under_way) {
  StorageModel model(slow_path_machine());
  Recorder recorder;
  for (std::uint64_t tag = 1; tag <= 5; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(us(400), recorder);
  ServerCounters server = model.counters({ServerName::Kind::kData, 0});
  EXPECT_EQ(server.in_service, 2U);
  EXPECT_EQ(server.waiting, 3U);
  EXPECT_EQ(server.busy, us(400));
  model.reset_counters();
  model.advance(kEnd, recorder);
  server = model.counters({ServerName::Kind::kData, 0});
  EXPECT_EQ(server.in_service, 0U);
  EXPECT_EQ(server.requests, 5U);
  EXPECT_EQ(server.bytes_read, 5 * 4_KiB);
  EXPECT_EQ(server.waiting_most, 3U);
  EXPECT_EQ(server.waited, us(1000 + 1000 + 2000) + 5 * kTransfer);
  EXPECT_EQ(server.busy, us(2600) + 3 * kTransfer);
  EXPECT_EQ(model.counters(ClientId{0}).requests, 5U);
  EXPECT_EQ(model.counters(ClientId{0}).under_way, 0U);
}

struct Arrival {
  Time at;
  std::uint64_t bytes;
};

std::vector<Arrival> random_arrivals(std::mt19937_64& random, std::size_t count) {
  std::vector<Arrival> arrivals(count);
  for (Arrival& one : arrivals)
    one = {Time(random() % 2'000'000), 1 + random() % 20'000};
  std::ranges::sort(arrivals, {}, &Arrival::at);
  return arrivals;
}

/// When requests end at one server: the place comes free when the c-th before is done, the path
/// when the last is.
std::vector<Time> ends_of(const std::vector<Arrival>& arrivals, const ServerGroup& server) {
  std::vector<Time> ends;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    Time begin = arrivals[i].at;
    if (i >= server.concurrency) begin = std::max(begin, ends[i - server.concurrency]);
    Time turn = begin + us(static_cast<std::int64_t>(server.latency_us));
    if (i > 0) turn = std::max(turn, ends.back());
    const auto bytes_per_us = static_cast<std::uint64_t>(server.bandwidth_mb_per_s);
    ends.push_back(turn + Time(arrivals[i].bytes * 1000 / bytes_per_us));
  }
  return ends;
}

TEST(Driving, random_arrivals_end_as_the_recursion_says_whenever_the_model_is_advanced) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    Machine machine = plain_machine();
    ServerGroup& server = machine.servers.front();
    server.latency_us = static_cast<double>(random() % 300);
    server.concurrency = static_cast<std::uint32_t>(1 + random() % 6);
    server.bandwidth_mb_per_s = 125;
    const auto arrivals = random_arrivals(random, 50);
    StorageModel model(machine);
    Recorder recorder;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      model.submit(arrivals[i].at, read_of({0, arrivals[i].bytes}, i));
      if (random() % 3 == 0) model.advance(arrivals[i].at, recorder);
    }
    model.advance(kEnd, recorder);
    const std::vector<Time> ends = ends_of(arrivals, server);
    for (std::size_t i = 0; i < ends.size(); ++i)
      ASSERT_EQ(recorder.answered(i), ends[i]) << "round " << round << ", request " << i;
  }
}

}  // namespace
}  // namespace forebay::model
