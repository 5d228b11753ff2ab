// SPDX-License-Identifier: Apache-2.0
// The shape of tests on a storage that is the test's own: made for each, skipped with the reason
// where it cannot be had, gone after everything that uses it.
#pragma once

#include <memory>
#include <optional>

#include "own_mounts.hpp"
#include "writing.hpp"

namespace forebay::faults {

template <class Storage>
class OnStorage : public ::testing::TestWithParam<Way> {
 protected:
  virtual std::unique_ptr<Storage> make_storage() const = 0;
  void SetUp() override {
    if (const auto reason = reason_against_own_mounts(); !reason.empty()) GTEST_SKIP() << reason;
    storage = make_storage();
    if (!storage->reason_against().empty()) GTEST_SKIP() << storage->reason_against();
  }

  std::unique_ptr<Storage> storage;
};

template <class Storage>
class StreamsOn : public OnStorage<Storage> {
 protected:
  OutputStream make_stream() { return must(runtime->output_stream(this->GetParam().plan())); }

  std::optional<Runtime> runtime{std::in_place, RuntimeOptions{.engine = this->GetParam().engine}};
};

}  // namespace forebay::faults
