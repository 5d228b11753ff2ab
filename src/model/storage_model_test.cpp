// SPDX-License-Identifier: Apache-2.0
// Schedules of servers, links and metadata computed by hand, and compared with the recursion of a
// queue with one server. Locks, faults and closed forms have separate tests.
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

TEST(Servers, single_request_takes_latency_and_transfer) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  model.submit(us(5), read_of({0, 4_KiB}, 1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1005) + kTransfer);
  EXPECT_EQ(recorder.finished.front().submitted, us(5));
  EXPECT_EQ(model.in_flight(), 0U);
}

TEST(Servers, writes_have_separate_costs) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 4_KiB}, .tag = 1});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2000) + 2 * kTransfer);
}

TEST(Servers, requests_beyond_the_slots_wait_in_order) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  for (std::uint64_t tag = 1; tag <= 4; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000) + kTransfer);
  EXPECT_EQ(recorder.completion_time(2), us(1000) + 2 * kTransfer);
  EXPECT_EQ(recorder.completion_time(3), us(2000) + 2 * kTransfer);
  EXPECT_EQ(recorder.completion_time(4), us(2000) + 3 * kTransfer);
}

TEST(Servers, latency_without_overlap_occupies_the_channel) {
  Machine machine = slow_path_machine();
  machine.servers.front().latency_overlaps = false;
  StorageModel model(machine);
  RecordingObserver recorder;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(kTimeMax, recorder);
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    EXPECT_EQ(recorder.completion_time(tag), static_cast<int>(tag) * (us(1000) + kTransfer));
}

TEST(Servers, request_completes_with_its_slowest_part) {
  Machine machine = plain_machine();
  machine.servers.push_back(machine.servers.front());
  machine.servers.back().latency_us = 7000;
  StorageModel model(machine);
  RecordingObserver recorder;
  const Layout layout{.stripe_bytes = 4_KiB, .stripe_count = 2, .first_server = 0};
  model.submit(us(0), {.range = {0, 4_KiB}, .layout = layout, .tag = 1});
  model.submit(us(0), {.range = {0, 8_KiB}, .layout = layout, .tag = 2});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000));
  EXPECT_EQ(recorder.completion_time(2), us(7000));
}

TEST(Servers, rounding_errors_do_not_add_up) {
  Machine machine = plain_machine();
  machine.servers.front() = {.concurrency = 1, .bandwidth_mb_per_s = 3000};
  StorageModel model(machine);
  RecordingObserver recorder;
  for (int i = 0; i < 3000; ++i)
    model.submit(us(0), read_of({0, 1}, 0));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(1));
}

TEST(Servers, empty_request_completes_at_once) {
  Machine machine = slow_path_machine();
  machine.client.link_latency_us = 50;
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(3), read_of({1_MiB, 0}, 1));
  model.advance(us(3), recorder);
  EXPECT_EQ(recorder.completion_time(1), us(3));
}

TEST(Links, reads_of_a_client_use_its_link_sequentially) {
  Machine machine = plain_machine();
  machine.client = {.count = 2, .link_latency_us = 10, .link_bandwidth_mb_per_s = 1024};
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), {.client = 0, .range = {0, 1_MiB}, .tag = 1});
  model.submit(us(0), {.client = 0, .range = {0, 1_MiB}, .tag = 2});
  model.submit(us(0), {.client = 1, .range = {0, 1_MiB}, .tag = 3});
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000 + 1024 + 10));
  EXPECT_EQ(recorder.completion_time(2), us(1000 + 2048 + 10));
  EXPECT_EQ(recorder.completion_time(3), us(1000 + 1024 + 10));
}

TEST(Links, writes_use_the_link_before_the_server_and_beside_reads) {
  Machine machine = plain_machine();
  machine.client = {.link_bandwidth_mb_per_s = 1024};
  StorageModel model(machine);
  RecordingObserver recorder;
  model.submit(us(0), {.kind = RequestKind::kWrite, .range = {0, 2_MiB}, .tag = 1});
  model.submit(us(0), read_of({0, 1_MiB}, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(2048 + 1000));
  EXPECT_EQ(recorder.completion_time(2), us(1000 + 1024));
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

TEST(Metadata, operations_in_one_directory_wait_at_one_server) {
  StorageModel model(metadata_machine(NameSpread::kDirectory));
  RecordingObserver recorder;
  for (std::uint64_t tag = 0; tag < 64; ++tag) {
    const std::uint64_t hash = name_hash(NameSpread::kDirectory, 9, std::to_string(tag));
    model.submit(us(0), operation(RequestKind::kCreate, hash, tag));
  }
  model.advance(kTimeMax, recorder);
  for (std::uint64_t tag = 0; tag < 64; ++tag)
    EXPECT_EQ(recorder.completion_time(tag), us(30 + 500 * static_cast<std::int64_t>(tag / 2 + 1)));
}

TEST(Metadata, operations_over_all_servers_scale) {
  StorageModel model(metadata_machine(NameSpread::kFile));
  RecordingObserver recorder;
  for (std::uint64_t hash = 0; hash < 64; ++hash)
    model.submit(us(0), operation(RequestKind::kUnlink, hash, hash));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.finished.back().finished, us(30 + 300 * 64 / 8));
  const ServerCounters one = model.counters({ServerId::Kind::kMetadata, 3});
  EXPECT_EQ(one.requests, 16U);
  EXPECT_EQ(one.in_service_max, 2U);
  EXPECT_EQ(one.waiting_max, 14U);
  EXPECT_EQ(one.busy_time, us(2400));
  EXPECT_EQ(model.counters(ClientId{0}).metadata_operations, 64U);
}

TEST(Metadata, each_operation_has_its_cost) {
  StorageModel model(metadata_machine(NameSpread::kFile));
  RecordingObserver recorder;
  model.submit(us(0), operation(RequestKind::kOpen, 0, 1));
  model.submit(us(0), operation(RequestKind::kStat, 1, 2));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(130));
  EXPECT_EQ(recorder.completion_time(2), us(30));
}

TEST(StorageModelTime, late_calls_change_no_time) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  model.submit(us(0), read_of({0, 4_KiB}, 1));
  model.submit(us(3000), read_of({0, 4_KiB}, 2));
  EXPECT_EQ(model.next_event(), us(0));
  model.advance(us(9000), recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1000) + kTransfer);
  EXPECT_EQ(recorder.completion_time(2), us(4000) + kTransfer);
  EXPECT_EQ(model.next_event(), std::nullopt);
}

TEST(StorageModelTime, late_request_is_accepted_if_no_event_followed) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  model.advance(us(500), recorder);
  model.submit(us(100), read_of({0, 4_KiB}, 1));
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1100) + kTransfer);
}

TEST(StorageModelTime, time_before_the_last_event_counts_as_the_event) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  model.submit(us(400), read_of({0, 4_KiB}, 1));
  model.advance(us(500), recorder);
  model.submit(us(100), read_of({0, 4_KiB}, 2));
  model.advance(us(100), recorder);
  EXPECT_TRUE(recorder.finished.empty());
  model.advance(kTimeMax, recorder);
  EXPECT_EQ(recorder.completion_time(1), us(1400) + kTransfer);
  EXPECT_EQ(recorder.completion_time(2), us(1400) + 2 * kTransfer);
}

TEST(StorageModelTime, counters_report_requests_in_flight) {
  StorageModel model(slow_path_machine());
  RecordingObserver recorder;
  for (std::uint64_t tag = 1; tag <= 5; ++tag)
    model.submit(us(0), read_of({0, 4_KiB}, tag));
  model.advance(us(400), recorder);
  ServerCounters server = model.counters({ServerId::Kind::kData, 0});
  EXPECT_EQ(server.in_service, 2U);
  EXPECT_EQ(server.waiting, 3U);
  EXPECT_EQ(server.busy_time, us(400));
  model.reset_counters();
  model.advance(kTimeMax, recorder);
  server = model.counters({ServerId::Kind::kData, 0});
  EXPECT_EQ(server.in_service, 0U);
  EXPECT_EQ(server.requests, 5U);
  EXPECT_EQ(server.bytes_read, 5 * 4_KiB);
  EXPECT_EQ(server.waiting_max, 3U);
  EXPECT_EQ(server.wait_time, us(1000 + 1000 + 2000) + 5 * kTransfer);
  EXPECT_EQ(server.busy_time, us(2600) + 3 * kTransfer);
  EXPECT_EQ(model.counters(ClientId{0}).requests, 5U);
  EXPECT_EQ(model.counters(ClientId{0}).in_flight, 0U);
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

/// Completion times at one server: a slot is free when the c-th preceding request is done, the
/// channel when the last one is.
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

TEST(StorageModelTime, random_arrivals_match_the_recursion) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    Machine machine = plain_machine();
    ServerGroup& server = machine.servers.front();
    server.latency_us = static_cast<double>(random() % 300);
    server.concurrency = static_cast<std::uint32_t>(1 + random() % 6);
    server.bandwidth_mb_per_s = 125;
    const auto arrivals = random_arrivals(random, 50);
    StorageModel model(machine);
    RecordingObserver recorder;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      model.submit(arrivals[i].at, read_of({0, arrivals[i].bytes}, i));
      if (random() % 3 == 0) model.advance(arrivals[i].at, recorder);
    }
    model.advance(kTimeMax, recorder);
    const std::vector<Time> ends = ends_of(arrivals, server);
    for (std::size_t i = 0; i < ends.size(); ++i)
      ASSERT_EQ(recorder.completion_time(i), ends[i]) << "round " << round << ", request " << i;
  }
}

}  // namespace
}  // namespace forebay::model
