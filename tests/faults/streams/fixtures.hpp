// SPDX-License-Identifier: Apache-2.0
// Fixtures of tests with their own storage: created for each test, skipped with the reason if
// unavailable, and destroyed after everything that uses it.
#pragma once

#include <memory>
#include <optional>

#include "private_mounts.hpp"
#include "stream_configs.hpp"

namespace forebay::faults {

template <class Storage>
class StorageTest : public ::testing::TestWithParam<WriteConfig> {
 protected:
  virtual std::unique_ptr<Storage> make_storage() const = 0;
  void SetUp() override {
    if (const auto reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    storage = make_storage();
    if (!storage->unavailable_reason().empty()) GTEST_SKIP() << storage->unavailable_reason();
  }

  std::unique_ptr<Storage> storage;
};

template <class Storage>
class StreamTest : public StorageTest<Storage> {
 protected:
  OutputStream make_stream() {
    return must(runtime->create_output_stream(this->GetParam().plan()));
  }

  std::optional<Runtime> runtime{std::in_place,
                                 RuntimeOptions{.tuning = {.backend = this->GetParam().backend}}};
};

}  // namespace forebay::faults
