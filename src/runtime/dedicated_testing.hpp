// SPDX-License-Identifier: Apache-2.0
// What tests of dedicated ranks share: where the ranks meet, and their suite. For tests only.
#pragma once

#include <forebay/runtime.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "comm/testing.hpp"
#include "read/testing.hpp"
#include "storage/file.hpp"

namespace forebay {

/// What ranks must do of which some are given to I/O, whoever makes them.
class DedicatedSuite : public comm::MakeTest {
 public:
  using comm::MakeTest::on_all_ranks;
};

/// A folder with a file of words that all ranks see. Made, and destroyed, by all of them.
struct Camp {
  static constexpr std::uint64_t kFileBytes = 3'000'001;

  explicit Camp(const std::shared_ptr<comm::Communicator>& communicator)
      : ranks(*communicator), folder(communicator) {
    if (ranks.rank() == comm::Rank{0}) fill();
    meet();
  }
  std::string path() const { return folder / "words"; }
  /// Nobody goes on before all have come.
  void meet() const { EXPECT_TRUE(ranks.barrier()); }

  comm::Communicator& ranks;
  comm::SharedFolder folder;

 private:
  void fill() const {
    const auto file = storage::open_file(path(), {.intent = storage::Intent::kCreate});
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE((*file)->write_at(read::word_bytes({0, kFileBytes}), 0));
  }
};

}  // namespace forebay
