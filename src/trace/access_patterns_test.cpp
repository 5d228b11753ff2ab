// SPDX-License-Identifier: Apache-2.0
#include "trace/access_patterns.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/access_class.hpp"
#include "trace/item_testing.hpp"
#include "trace/loop_rewriting.hpp"
#include "trace/signature_search.hpp"

namespace forebay::trace {
namespace {

using testing::accesses_of;

Signature pattern(std::string_view name) {
  const Result<Signature> signature = access_pattern(name);
  EXPECT_TRUE(signature.has_value()) << name;
  return signature.value_or(Signature{});
}

TEST(AccessPatterns, numbers_of_accesses_are_those_of_the_benchmarks) {
  const std::map<std::string_view, std::uint64_t> counts{
      {"stride.4k", 200},
      {"nested.64k", 200},
      {"lu", 8253},
      {"btio", 40},
      {"btio_simple", 7803},
      {"sequential", 1024},
      {"stride.4k.1024", 1024},
      {"stride.64k.2000", 2000},
      {"mpi_tile_io", 7680},
      {"flash_io", 2400},
      {"random.2_epochs", 400},
  };
  for (const auto& [name, count] : counts)
    EXPECT_EQ(access_count(pattern(name)), count) << name;
}

TEST(AccessPatterns, all_satisfy_the_limits_of_signatures) {
  for (const std::string_view name : access_pattern_names())
    EXPECT_TRUE(check_signature(pattern(name)).has_value()) << name;
}

TEST(AccessPatterns, unknown_name_fails_with_the_known_names) {
  const Result<Signature> signature = access_pattern("stride.5k");
  ASSERT_FALSE(signature.has_value());
  EXPECT_EQ(signature.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_NE(signature.error().message().find("stride.4k, "), std::string::npos);
}

/// The reads of rank 0 of NPB BT-IO in simple mode, computed as in make_set.f and simple_mpiio.f.
std::vector<Access> btio_simple_accesses() {
  const std::vector<std::uint64_t> first{0, 26, 52, 77};
  const std::vector<std::uint64_t> count{26, 26, 25, 25};
  std::vector<Access> accesses;
  for (std::uint64_t dump = 0; dump < 3; ++dump)
    for (std::uint64_t cell = 0; cell < 4; ++cell) {
      const std::uint64_t x = cell;
      const std::uint64_t y = (4 - cell) % 4;
      const std::uint64_t z = cell;
      for (std::uint64_t k = 0; k < count[z]; ++k)
        for (std::uint64_t j = 0; j < count[y]; ++j) {
          const std::uint64_t row = first[y] + j + 102 * (first[z] + k + 102 * dump);
          accesses.push_back({40 * (first[x] + 102 * row), 40 * count[x]});
        }
    }
  return accesses;
}

TEST(AccessPatterns, btio_simple_equals_the_loops_of_the_benchmark) {
  EXPECT_EQ(accesses_of(pattern("btio_simple")), btio_simple_accesses());
  EXPECT_EQ(btio_simple_accesses().size(), 3U * 2601);
}

TEST(AccessPatterns, each_is_found_again_with_at_most_as_many_items) {
  for (const std::string_view name : access_pattern_names()) {
    SCOPED_TRACE(name);
    const Signature given = pattern(name);
    const std::vector<Access> accesses = accesses_of(given);
    const Result<Signature> found = signature_of(accesses, given.operation);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(accesses_of(*found), accesses);
    EXPECT_LE(item_count(found->items), item_count(given.items));
    EXPECT_EQ(to_text(*found), to_text(given));
    EXPECT_EQ(explained_share(*found), 1);
  }
}

TEST(AccessPatterns, classes_are_those_of_the_paper) {
  const std::map<std::string_view, std::string> classes{
      {"stride.4k", "fixed stride; fixed small requests; single; unknown interval; read"},
      {"nested.16k", "2-d stride; fixed small requests; single; unknown interval; read"},
      {"lu",
       "nested; variable medium requests; repeating after 91 accesses; unknown interval; read"},
      {"btio", "fixed stride; fixed large requests; single; unknown interval; read"},
      {"btio_simple", "nested; variable small requests; single; unknown interval; read"},
      {"sequential", "contiguous; fixed small requests; single; unknown interval; read"},
      {"mpi_tile_io", "2-d stride; fixed small requests; single; unknown interval; read"},
      {"flash_io", "contiguous; fixed small requests; single; unknown interval; write"},
      {"mpiblast", "contiguous; variable medium requests; single; unknown interval; read"},
      {"random.2_epochs",
       "random; fixed small requests; repeating after 200 accesses; unknown interval; read"},
  };
  for (const auto& [name, expected] : classes) {
    const Signature signature = pattern(name);
    EXPECT_EQ(to_text(classify(accesses_of(signature), signature)), expected) << name;
  }
}

}  // namespace
}  // namespace forebay::trace
