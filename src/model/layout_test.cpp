// SPDX-License-Identifier: Apache-2.0
// Which server stores which byte: splitting is compared with looking up each byte, over random
// layouts.
#include "model/layout.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "model/testing.hpp"

namespace forebay::model {
namespace {

constexpr Layout kFourStripes{.stripe_bytes = 1_MiB, .stripe_count = 4, .first_server = 0};

std::vector<ServerRange> cut_over(const Layout& layout, ByteRange range, std::uint32_t servers) {
  return split_by_server(layout, range, {.server_count = servers, .request_bytes_max = 1_MiB});
}

TEST(SplitByServer, range_in_one_stripe_is_one_part) {
  const auto parts = cut_over(kFourStripes, {5_MiB + 7, 1000}, 4);
  EXPECT_EQ(parts, (std::vector<ServerRange>{{1, {5_MiB + 7, 1000}}}));
}

TEST(SplitByServer, range_is_split_where_the_server_changes) {
  const auto parts = cut_over(kFourStripes, {1_MiB - 1, 1_MiB + 2}, 4);
  EXPECT_EQ(parts,
            (std::vector<ServerRange>{{0, {1_MiB - 1, 1}}, {1, {1_MiB, 1_MiB}}, {2, {2_MiB, 1}}}));
}

TEST(SplitByServer, range_on_one_server_is_split_by_the_request_limit) {
  const Layout layout{.stripe_bytes = 64_KiB, .stripe_count = 1, .first_server = 2};
  const auto parts = cut_over(layout, {100, 2_MiB}, 4);
  EXPECT_EQ(parts, (std::vector<ServerRange>{{2, {100, 1_MiB}}, {2, {100 + 1_MiB, 1_MiB}}}));
}

TEST(SplitByServer, long_stripes_are_split_by_the_request_limit) {
  const Layout layout{.stripe_bytes = 4_MiB, .stripe_count = 2, .first_server = 0};
  const auto parts =
      split_by_server(layout, {0, 4_MiB + 1}, {.server_count = 2, .request_bytes_max = 3_MiB});
  EXPECT_EQ(parts,
            (std::vector<ServerRange>{{0, {0, 3_MiB}}, {0, {3_MiB, 1_MiB}}, {1, {4_MiB, 1}}}));
}

TEST(SplitByServer, empty_range_has_no_parts) {
  EXPECT_TRUE(cut_over(kFourStripes, {3_MiB, 0}, 4).empty());
}

TEST(SplitByServer, servers_wrap_around_from_the_first) {
  const Layout layout{.stripe_bytes = 4_KiB, .stripe_count = 3, .first_server = 3};
  std::vector<std::uint32_t> servers;
  for (const ServerRange& part : cut_over(layout, {0, 24_KiB}, 4))
    servers.push_back(part.server);
  EXPECT_EQ(servers, (std::vector<std::uint32_t>{3, 0, 1, 3, 0, 1}));
}

/// Invariants of every split.
void check_parts(const Layout& layout, ByteRange range, SplitLimits limits) {
  std::uint64_t offset = range.offset;
  const std::vector<ServerRange> parts = split_by_server(layout, range, limits);
  for (const ServerRange& part : parts) {
    ASSERT_EQ(part.range.offset, offset);
    ASSERT_GT(part.range.size, 0U);
    ASSERT_LE(part.range.size, limits.request_bytes_max);
    const std::uint64_t last = part.range.end() - 1;
    ASSERT_EQ(part.server, server_of(layout, offset, limits.server_count));
    ASSERT_EQ(part.server, server_of(layout, last, limits.server_count));
    offset = part.range.end();
  }
  ASSERT_EQ(offset, range.end());
}

TEST(SplitByServer, parts_are_on_one_server_each_without_gaps) {
  std::mt19937_64 random(7);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  for (int i = 0; i < 3000; ++i) {
    const auto servers = static_cast<std::uint32_t>(1 + below(9));
    const Layout layout{.stripe_bytes = 4_KiB << below(9),
                        .stripe_count = static_cast<std::uint32_t>(1 + below(servers)),
                        .first_server = static_cast<std::uint32_t>(below(servers))};
    const SplitLimits limits{.server_count = servers, .request_bytes_max = 4_KiB << below(9)};
    check_parts(layout, {below(1ULL << 40U), below(4_MiB)}, limits);
  }
}

TEST(NewFileLayout, begins_one_server_further_for_each_file) {
  Machine machine = plain_machine();
  machine.servers.front().count = 3;
  EXPECT_EQ(layout_of_new_file(machine, 0), (Layout{1_MiB, 3, 0}));
  EXPECT_EQ(layout_of_new_file(machine, 4), (Layout{1_MiB, 3, 1}));
}

TEST(NewFileLayout, begins_at_the_first_server_of_the_machine) {
  Machine machine = plain_machine();
  machine.servers.front().count = 3;
  machine.layout = {.stripe_bytes = 64_KiB, .stripe_count = 2, .first_server = 1};
  EXPECT_EQ(layout_of_new_file(machine, 5), (Layout{64_KiB, 2, 1}));
}

TEST(NameHash, names_of_a_directory_share_a_server_or_are_spread) {
  const auto together = NameSpread::kDirectory;
  EXPECT_EQ(name_hash(together, 5, "a"), name_hash(together, 5, "b"));
  EXPECT_NE(name_hash(together, 5, "a"), name_hash(together, 6, "a"));
  EXPECT_NE(name_hash(NameSpread::kFile, 5, "a"), name_hash(NameSpread::kFile, 5, "b"));
}

TEST(NameHash, names_are_spread_evenly) {
  const MetadataServers servers{.servers = 8};
  std::vector<int> found(servers.servers);
  for (std::uint64_t directory = 0; directory < 8000; ++directory) {
    ++found[metadata_server_of(name_hash(NameSpread::kDirectory, directory, ""), servers)];
    ++found[metadata_server_of(name_hash(NameSpread::kFile, 1, std::to_string(directory)),
                               servers)];
  }
  for (const int names : found)
    EXPECT_NEAR(names, 2000, 200);
}

TEST(NameHash, is_the_same_on_every_machine) {
  EXPECT_EQ(name_hash(NameSpread::kFile, 2, "snapshot"), 6447319101121674969U);
}

}  // namespace
}  // namespace forebay::model
