// SPDX-License-Identifier: Apache-2.0
// The machine files that Forebay ships: each is found by name, has the expected values, and has a
// source for every number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine.hpp"
#include "model/queueing.hpp"

namespace forebay::model {
namespace {

using ::testing::IsSupersetOf;

Machine shipped(const std::string& name) {
  Result<Machine> machine = load_machine(name, machine_directories({}));
  if (machine) return *machine;
  ADD_FAILURE() << machine.error().message();
  return {};
}

TEST(ShippedMachines, are_found_beside_the_library) {
  EXPECT_THAT(machine_names(machine_directories({})),
              IsSupersetOf({"gpfs-small", "local", "lustre-small", "nfs", "pvfs-small"}));
}

TEST(ShippedMachines, are_exactly_those_of_the_source_tree) {
  const std::vector<std::filesystem::path> sources{FOREBAY_SOURCE_DIR "/machines"};
  EXPECT_EQ(machine_names(machine_directories({})), machine_names(sources));
}

TEST(ShippedMachines, have_a_source_for_every_number) {
  for (const std::string& name : machine_names(machine_directories({}))) {
    const Machine machine = shipped(name);
    EXPECT_EQ(machine.name, name) << "a machine must have the name of its file";
    EXPECT_FALSE(machine.about.empty()) << name;
    for (const MachineValue& value : describe(machine))
      EXPECT_TRUE(value.source.has_value()) << value.key << " of " << name << " has no source";
  }
}

TEST(ShippedMachines, are_read_back_equal) {
  for (const std::string& name : machine_names(machine_directories({}))) {
    const Machine machine = shipped(name);
    const auto again = parse_machine(to_toml(machine), name);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(*again, machine);
  }
}

TEST(ShippedMachines, local_without_delays_costs_nothing) {
  const Machine machine = shipped("local");
  EXPECT_EQ(response_time_us(machine.server(0), {.in_flight = 64}), 0);
  EXPECT_EQ(machine.metadata, MetadataServers{});
}

TEST(ShippedMachines, nfs_has_one_server_with_200_mb_per_s) {
  const Machine machine = shipped("nfs");
  EXPECT_EQ(machine.server_count(), 1U);
  EXPECT_EQ(machine.server(0).latency_us, 5000);
  EXPECT_EQ(machine.server(0).concurrency, 16U);
  EXPECT_EQ(storage_limit_mb_per_s(machine, RequestKind::kRead), 200);
  EXPECT_TRUE(machine.client.page_cache);
}

TEST(ShippedMachines, lustre_has_four_servers_with_500_mb_per_s) {
  const Machine machine = shipped("lustre-small");
  EXPECT_EQ(machine.server_count(), 4U);
  EXPECT_EQ(machine.layout.stripe_bytes, 1_MiB);
  EXPECT_EQ(storage_limit_mb_per_s(machine, RequestKind::kRead), 500);
  EXPECT_EQ(machine.metadata.servers, 1U);
  EXPECT_EQ(machine.metadata.create_us, 500);
  EXPECT_EQ(machine.locks.unit, LockUnit::kObject);
}

TEST(ShippedMachines, lustre_is_saturated_by_16_requests_in_flight) {
  const Machine machine = shipped("lustre-small");
  const TransferPlan plan{.bytes = 1_GiB, .depth = 16, .layout = layout_of_new_file(machine, 0)};
  const double limit_us = static_cast<double>(plan.bytes) / 500;
  EXPECT_LT(transfer_time_us(machine, plan) / limit_us, 1.002);
}

TEST(ShippedMachines, gpfs_has_block_locks_and_metadata_on_all_servers) {
  const Machine machine = shipped("gpfs-small");
  EXPECT_EQ(machine.server_count(), 8U);
  EXPECT_EQ(machine.metadata.servers, 8U);
  EXPECT_EQ(machine.locks.unit, LockUnit::kBytes);
  EXPECT_EQ(machine.locks.unit_bytes, 4_MiB);
}

TEST(ShippedMachines, pvfs_has_neither_locks_nor_caches) {
  const Machine machine = shipped("pvfs-small");
  EXPECT_EQ(machine.locks.unit, LockUnit::kNone);
  EXPECT_FALSE(machine.client.page_cache);
}

}  // namespace
}  // namespace forebay::model
