// SPDX-License-Identifier: Apache-2.0
// Copies at all alignments, and sizes around those where the method changes. Hashes are compared
// with those of the library in one call.
#include "write/hashed_copy.hpp"

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

namespace forebay::write {
namespace {

constexpr std::byte kUntouched{0xa5};

std::vector<std::byte> random_bytes(std::size_t size, std::mt19937_64& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return ::XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

class HashedCopyTest : public ::testing::Test {
 protected:
  HashedCopyTest() { std::cout << "seed " << seed_ << "\n"; }
  const std::uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
};

/// Copies to an offset of a larger memory, the rest of which must not change.
bool copies_exactly(std::span<const std::byte> from, std::size_t to_at) {
  std::vector<std::byte> target(from.size() + 260, kUntouched);
  std::vector<std::byte> expected = target;
  std::copy(from.begin(), from.end(), expected.begin() + static_cast<std::ptrdiff_t>(to_at));
  copy_nontemporal(std::span(target).subspan(to_at), from);
  return target == expected;
}

TEST_F(HashedCopyTest, copy_is_exact_at_any_alignment) {
  const std::vector<std::byte> source = random_bytes(70'000, random_);
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 4160U, 65'536U}) {
    for (int round = 0; round < 20; ++round) {
      const auto from = std::span(source).subspan(random_() % 130, size);
      ASSERT_TRUE(copies_exactly(from, random_() % 130)) << size << " in round " << round;
    }
  }
}

TEST_F(HashedCopyTest, hash_matches_library_hash_with_seed) {
  for (const std::size_t size : {0U, 1U, 100U, 240U, 241U, 4096U, 262'144U, 262'145U, 3'000'001U}) {
    const std::vector<std::byte> from = random_bytes(size, random_);
    std::vector<std::byte> to(size);
    const std::uint64_t seed = random_();
    EXPECT_EQ(hashed_copy(to, from, seed), hash_of(from, seed)) << size;
    EXPECT_EQ(to, from);
  }
}

TEST_F(HashedCopyTest, hash_depends_on_seed_and_bytes) {
  std::vector<std::byte> from = random_bytes(1 << 20U, random_);
  std::vector<std::byte> to(from.size());
  const std::uint64_t hash = hashed_copy(to, from, 1);
  EXPECT_NE(hashed_copy(to, from, 2), hash);
  from[random_() % from.size()] ^= std::byte{1};
  EXPECT_NE(hashed_copy(to, from, 1), hash);
}

/// Adds all of `from` in parts of random sizes; some of the parts are copied before.
void add_in_parts(HashedCopy& copy,
                  std::span<std::byte> to,
                  std::span<const std::byte> from,
                  std::mt19937_64& random) {
  while (!from.empty()) {
    const std::size_t size = std::min<std::size_t>(from.size(), random() % 600'000);
    const auto part = from.first(size);
    if (random() % 4 == 0) {
      std::copy(part.begin(), part.end(), to.begin());
      copy.add(part);
    } else {
      copy.add(to, part);
    }
    from = from.subspan(size);
    to = to.subspan(size);
  }
}

TEST_F(HashedCopyTest, spans_of_any_size_form_one_piece) {
  for (int round = 0; round < 50; ++round) {
    const std::vector<std::byte> from = random_bytes(random_() % 1'500'000, random_);
    std::vector<std::byte> to(from.size());
    const std::uint64_t seed = random_();
    HashedCopy copy(seed);
    add_in_parts(copy, to, from, random_);
    ASSERT_EQ(copy.size_bytes(), from.size());
    ASSERT_EQ(copy.digest(), hash_of(from, seed));
    ASSERT_EQ(to, from);
  }
}

TEST_F(HashedCopyTest, reset_begins_new_piece) {
  const std::vector<std::byte> bytes = random_bytes(1000, random_);
  HashedCopy copy(1);
  EXPECT_EQ(copy.digest(), hash_of({}, 1));
  copy.add(bytes);
  EXPECT_EQ(copy.digest(), hash_of(bytes, 1));
  copy.reset(2);
  EXPECT_EQ(copy.size_bytes(), 0U);
  copy.add(bytes);
  EXPECT_EQ(copy.digest(), hash_of(bytes, 2));
}

}  // namespace
}  // namespace forebay::write
