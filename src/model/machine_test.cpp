// SPDX-License-Identifier: Apache-2.0
// Machine files: valid and refused texts with their errors, the round trip through text, and lookup
// of files.
#include "model/machine.hpp"

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kSmall = R"(format = 1
name = "small"

[[servers]]
latency_us = 100
concurrency = 2
bandwidth_mb_per_s = 50
)";

Machine parsed(std::string_view text) {
  Result<Machine> machine = parse_machine(text, "test.toml");
  if (machine) return *machine;
  ADD_FAILURE() << machine.error().message() << " in\n" << text;
  return {};
}

TEST(MachineFile, short_file_has_the_defaults) {
  const Machine machine = parsed(kSmall);
  EXPECT_EQ(machine.name, "small");
  EXPECT_EQ(machine.client, Clients{});
  EXPECT_EQ(machine.layout, DefaultLayout{});
  EXPECT_EQ(machine.metadata, MetadataServers{});
  EXPECT_EQ(machine.locks, Locks{});
  ASSERT_EQ(machine.servers.size(), 1U);
  EXPECT_EQ(machine.servers[0], (ServerGroup{.latency_us = 100,
                                             .concurrency = 2,
                                             .bandwidth_mb_per_s = 50,
                                             .write_latency_us = 100,
                                             .write_bandwidth_mb_per_s = 50}));
}

TEST(MachineFile, may_have_unequal_servers) {
  const Machine machine = parsed(std::string(kSmall) + R"(
[[servers]]
count = 3
latency_us = 0.5
concurrency = 1
bandwidth_mb_per_s = 0
write_latency_us = 7
)");
  EXPECT_EQ(machine.server_count(), 4U);
  EXPECT_EQ(machine.server(0).latency_us, 100);
  EXPECT_EQ(machine.server(3).latency_us, 0.5);
  EXPECT_EQ(machine.server(3).write_latency_us, 7);
}

TEST(IoNodes, job_reaches_its_share_rounded_up) {
  Machine machine;
  EXPECT_EQ(machine.io_nodes_of(1), 0U) << "there are none";
  machine.client.count = 64;
  machine.io_nodes.count = 16;
  EXPECT_EQ(machine.io_nodes_of(4), 1U);
  EXPECT_EQ(machine.io_nodes_of(5), 2U);
  EXPECT_EQ(machine.io_nodes_of(64), 16U);
  EXPECT_EQ(machine.io_nodes_of(65), 16U) << "more nodes than the machine has";
}

TEST(MachineSources, source_is_that_of_the_key_the_group_or_the_table) {
  const Machine machine = parsed(std::string(kSmall) + R"(
[sources]
client = "the whole table"
"servers.latency_us" = "of all groups"
servers.0 = "of the group"
layout.stripe_bytes = "one number"
)");
  EXPECT_EQ(machine.source_of("client.count"), "the whole table");
  EXPECT_EQ(machine.source_of("servers.0.latency_us"), "of all groups");
  EXPECT_EQ(machine.source_of("servers.0.concurrency"), "of the group");
  EXPECT_EQ(machine.source_of("layout.stripe_bytes"), "one number");
  EXPECT_EQ(machine.source_of("layout.stripe_count"), std::nullopt);
}

struct Refusal {
  std::string_view text;   ///< appended to kSmall, which has 7 lines and ends in [[servers]]
  std::string_view cause;  ///< expected part of the error
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, error_names_line_and_correction) {
  const auto machine = parse_machine(std::string(kSmall) + std::string(GetParam().text), "m.toml");
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(machine.error().path(), "m.toml");
  EXPECT_THAT(machine.error().cause(), HasSubstr(std::string(GetParam().cause)));
}

INSTANTIATE_TEST_SUITE_P(
    Lines,
    Refused,
    ::testing::Values(
        Refusal{"latency_us = 1", "line 8: "},
        Refusal{"latencyus = 1",
                "line 8: there is no key \"servers.latencyus\"; the nearest one "
                "is \"servers.latency_us\""},
        Refusal{"[clients]", "line 8: there is no key \"clients\"; the nearest one is \"client\""},
        Refusal{"[client]\n\ncount = 0",
                "line 10: client.count is 0: write a whole number between "
                "1 and 65536"},
        Refusal{"[client]\ncount = 65537", "line 9: client.count is 65537"},
        Refusal{"[client]\ncount = -1", "line 9: client.count is -1"},
        Refusal{"[client]\ncount = 1.5", "line 9: client.count is not a whole number"},
        Refusal{"[client]\npage_cache = 1", "line 9: client.page_cache is neither true nor false"},
        Refusal{"[client]\nread_ahead_bytes = \"2 GiB\"", "between 0 and 1 GiB"},
        Refusal{"[client]\nread_ahead_bytes = \"many\"", "client.read_ahead_bytes is not a size"},
        Refusal{"[client]\nread_ahead_bytes = -5", "client.read_ahead_bytes is not a size"},
        Refusal{"[client]\nrequest_bytes_max = 4095",
                "line 9: client.request_bytes_max is 4095: write a size between 4 KiB and 1 MiB"},
        Refusal{"[client]\nrequest_bytes_max = \"2 MiB\"", "between 4 KiB and 1 MiB"},
        Refusal{"[client]\nlink_latency_us = 1e8",
                "client.link_latency_us is 1e+08: write a number between 0 and 10000000"},
        Refusal{"[client]\nlink_latency_us = nan", "client.link_latency_us is nan"},
        Refusal{"[client]\nlink_bandwidth_mb_per_s = 1e-9", "0 for no limit, or a number"},
        Refusal{"[client]\nlink_bandwidth_mb_per_s = inf", "is inf: write 0 for no limit"},
        Refusal{"[client]\nlink_bandwidth_mb_per_s = \"1 GB/s\"", "is not a number"},
        Refusal{
            "[layout]\nstripe_bytes = \"3 MiB\"",
            "line 9: layout.stripe_bytes is 3 MiB, which is not a power of two: write \"2 MiB\" "
            "or \"4 MiB\""},
        Refusal{"[layout]\nstripe_count = 2",
                "line 9: layout.stripe_count is 2, and there are 1 servers: write 0"},
        Refusal{"[layout]\nfirst_server = 1", "line 9: layout.first_server is 1, and there are 1"},
        Refusal{"[layout]\nfirst_server = \"last\"", "write \"rotate\", or the number of a server"},
        Refusal{"[layout]\nfirst_server = 0.5",
                "layout.first_server is neither a word nor a number"},
        Refusal{"[[servers]]\ncount = 1", "line 8: servers.latency_us is missing"},
        Refusal{"[[servers]]\nlatency_us = 1\nconcurrency = 0\nbandwidth_mb_per_s = 1",
                "line 10: servers.concurrency is 0"},
        Refusal{"[[servers]]\nlatency_us = 1\nconcurrency = 1\nbandwidth_mb_per_s = 1\n"
                "count = 65536",
                "there are 65537 servers up to this group; at most 65536"},
        Refusal{"[metadata]\nspread = \"name\"", "line 9: metadata.spread is unknown: write"},
        Refusal{"[metadata]\nstat_us = true", "line 9: metadata.stat_us is not a number"},
        Refusal{"[locks]\nunit = \"block\"", "line 9: locks.unit is \"block\": write \"none\""},
        Refusal{"[locks]\nunit = \"3 MiB\"", "locks.unit is 3 MiB, which is not a power of two"},
        Refusal{"[locks]\nunit = 512", "locks.unit is 512: write a size between"},
        Refusal{"[locks]\nunit = true", "locks.unit is not a size"},
        Refusal{"[[locks]]\nunit = \"none\"", "line 8: locks is not a table: write [locks]"},
        Refusal{"[sources]\n\"server\" = \"x\"", "the nearest key is \"servers\""},
        Refusal{"[sources]\nclient.count = 5", "the source of client.count is not a string"},
        Refusal{"[client", "line 8: "}));

TEST(MachineText, invalid_machine_names_the_missing_part) {
  const auto cause = [](std::string_view text) {
    const auto machine = parse_machine(text, "m.toml");
    return machine ? std::string("accepted") : machine.error().cause();
  };
  EXPECT_THAT(cause(""), HasSubstr("line 1: format is missing"));
  EXPECT_THAT(cause("format = 2"), HasSubstr("line 1: this format is unknown"));
  EXPECT_THAT(cause("format = 1"), HasSubstr("name is missing"));
  EXPECT_THAT(cause("format = 1\nname = \"A B\""), HasSubstr("line 2: name must be lower case"));
  EXPECT_THAT(cause("format = 1\nname = \"a\"\nabout = 1"),
              HasSubstr("line 3: about is not a string"));
  EXPECT_THAT(cause("format = 1\nname = \"a\""), HasSubstr("add [[servers]]"));
  EXPECT_THAT(cause("format = 1\nname = \"a\"\nservers = []"), HasSubstr("add [[servers]]"));
  EXPECT_THAT(cause("format = 1\nname = \"a\"\nservers = [1]"), HasSubstr("write [[servers]]"));
  EXPECT_THAT(cause("format = 1\nname = \"a\"\n[servers]\ncount = 1"), HasSubstr("[[servers]]"));
}

/// Machines of all shapes, with numbers that text could lose.
class RandomMachines {
 public:
  Machine next() {
    Machine machine;
    machine.name = "m-" + std::to_string(below(1000));
    machine.about = below(2) == 0 ? "" : "a \"quoted\" back\\slash,\ta tab\nand \x7f";
    machine.client = {count(),    below(2) == 0, below(1_GiB), 4_KiB + below(1_MiB - 4_KiB + 1),
                      latency(),  bandwidth(),   count(),      below(1024_GiB),
                      bandwidth()};
    if (below(2) == 0) machine.network = {latency(), bandwidth()};
    if (below(2) == 0) machine.io_nodes = {count(), latency(), bandwidth()};
    if (below(2) == 0) machine.sharing = {bandwidth(), bandwidth()};
    if (below(2) == 0) machine.storage = {bandwidth(), bandwidth(), 1.0 + double(below(63))};
    for (std::uint64_t i = below(3) + 1; i > 0; --i) {
      machine.servers.push_back({1 + static_cast<std::uint32_t>(below(20'000)), latency(), count(),
                                 bandwidth(), below(2) == 0, latency(), bandwidth()});
    }
    const std::uint32_t servers = machine.server_count();
    machine.layout = {4_KiB << below(19), static_cast<std::uint32_t>(below(servers + 1)), {}};
    if (below(2) == 0) {
      machine.layout.first_server = static_cast<std::uint32_t>(below(servers));
    }
    machine.metadata = {
        count(),   count(),   below(2) == 0 ? NameSpread::kDirectory : NameSpread::kFile,
        latency(), latency(), latency(),
        latency()};
    const auto unit = static_cast<LockUnit>(below(5));
    machine.locks = {unit, unit == LockUnit::kBytes ? 4_KiB << below(19) : 0, latency()};
    if (below(2) == 0) machine.sources["servers.0.latency_us"] = "a 'source' of \\ \"numbers\"";
    if (below(2) == 0) machine.sources["client"] = "ångström µs";
    return machine;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint32_t count() { return static_cast<std::uint32_t>(1 + below(65'536)); }
  double latency() { return below(3) == 0 ? 0 : std::uniform_real_distribution(0.0, 1e7)(random_); }
  double bandwidth() {
    return below(3) == 0 ? 0 : std::uniform_real_distribution(0.001, 1e9)(random_);
  }

  std::mt19937_64 random_{5};
};

TEST(MachineText, random_machines_are_read_back_equal) {
  RandomMachines machines;
  for (int i = 0; i < 500; ++i) {
    const Machine machine = machines.next();
    const std::string text = to_toml(machine);
    const Machine again = parsed(text);
    ASSERT_EQ(again, machine) << text;
    ASSERT_EQ(to_toml(again), text);
  }
}

void write_text(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

TEST(LoadMachine, finds_names_in_the_first_directory_that_has_them) {
  const TemporaryDirectory first;
  const TemporaryDirectory second;
  write_text(second / "small.toml", kSmall);
  write_text(second / "other.toml", "nonsense");
  const std::vector<std::filesystem::path> directories{first.path(), second.path()};
  EXPECT_EQ(load_machine("small", directories).value_or(Machine{}).name, "small");
  write_text(first / "small.toml",
             "format = 1\nname = \"mine\"\n" + std::string(kSmall.substr(26)));
  EXPECT_EQ(load_machine("small", directories).value_or(Machine{}).name, "mine");
  EXPECT_THAT(machine_names(directories), ElementsAre("other", "small"));
}

TEST(LoadMachine, takes_paths_unchanged) {
  const TemporaryDirectory directory;
  write_text(directory / "small.toml", kSmall);
  const std::string path = directory / "small.toml";
  EXPECT_EQ(load_machine(path, {}).value_or(Machine{}).name, "small");
  const auto missing = load_machine(directory / "none", {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
}

TEST(LoadMachine, error_lists_known_names) {
  const TemporaryDirectory directory;
  write_text(directory / "lustre-small.toml", kSmall);
  write_text(directory / "nfs.toml", kSmall);
  const std::vector<std::filesystem::path> directories{directory.path()};
  const auto unknown = load_machine("lustre", directories);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().kind(), ErrorClass::kNotFound);
  EXPECT_THAT(unknown.error().cause(), HasSubstr("known machines are lustre-small, nfs"));
  EXPECT_THAT(load_machine("x", {}).error().cause(), HasSubstr("give the path of one"));
}

// Nested tables once used up the stack.
TEST(MachineText, key_with_too_many_parts_is_refused) {
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i)
    key += ".a";
  const auto machine = parse_machine(key + " = 1\n", "deep.toml");
  ASSERT_EQ(error_class(machine), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(machine.error(), "deep.toml: line 1: a key has more than 64 parts"));
}

TEST(LoadMachine, endless_file_is_refused) {
  const auto endless = load_machine("/dev/zero", {});
  ASSERT_FALSE(endless.has_value());
  EXPECT_THAT(endless.error().cause(), HasSubstr("longer than 1 MiB"));
}

TEST(MachineDirectories, include_the_variable_and_the_library) {
  const auto directories = machine_directories({{"FOREBAY_MACHINES", "/a::/b/c"}});
  ASSERT_EQ(directories.size(), 3U);
  EXPECT_EQ(directories[0], "/a");
  EXPECT_EQ(directories[1], "/b/c");
  EXPECT_EQ(machine_directories({}), (std::vector{directories[2]}));
  const auto own = machine_directories({{"FOREBAY_MACHINES", "/a"}, {"HOME", "/h"}});
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[1], "/h/.config/forebay/machines");
}

}  // namespace
}  // namespace forebay::model
