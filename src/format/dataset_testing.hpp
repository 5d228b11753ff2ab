// SPDX-License-Identifier: Apache-2.0
// A dataset in its own directory, for tests that damage it. For tests of this module only.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "format/catalog.hpp"
#include "format/testing.hpp"
#include "storage/testing.hpp"

namespace forebay::format {

class DatasetTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "run.fb"; }
  std::string path(const std::string& name) const { return path() + "/" + name; }

  std::unique_ptr<Catalog> open() {
    auto catalog = Catalog::open(path());
    EXPECT_TRUE(catalog) << catalog.error().message();
    return catalog ? std::move(*catalog) : nullptr;
  }
  /// The step, in a separate dataset beside path().
  std::shared_ptr<const StepCatalog> write_and_open(const std::string& name,
                                                    const TestStep& step,
                                                    const DatasetId& dataset = test_dataset_id()) {
    TestWriter(path() + name, dataset).write(step);
    return Catalog::open(path() + name).value()->step(step.step).value();
  }
  void flip_bit(const std::string& name, std::uint64_t bit) {
    const auto file = storage::must_open(path(name), {.intent = storage::Intent::kWrite});
    std::byte byte{};
    ASSERT_TRUE(file->read_at({&byte, 1}, bit / 8));
    byte ^= std::byte{1} << (bit % 8);
    ASSERT_TRUE(file->write_at({&byte, 1}, bit / 8));
  }
  void flip_byte(const std::string& name, std::uint64_t at) { flip_bit(name, at * 8 + 4); }
  void truncate(const std::string& name, std::uint64_t bytes) {
    std::filesystem::resize_file(path(name), bytes);
  }
  void fill_with_zeros(const std::string& name, ByteRange range) {
    const auto file = storage::must_open(path(name), {.intent = storage::Intent::kWrite});
    ASSERT_TRUE(file->write_at(std::vector<std::byte>(range.size), range.offset));
  }

  TemporaryDirectory directory_;
};

}  // namespace forebay::format
