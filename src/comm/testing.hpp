// SPDX-License-Identifier: Apache-2.0
// What tests of several ranks share: code run on all ranks of a make, a folder they all see, bytes
// that tell where they belong. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "base/testing_bytes.hpp"
#include "comm/communicator.hpp"
#include "comm/in_process.hpp"

namespace forebay::comm {

using Ranks = std::shared_ptr<Communicator>;
using RankTest = std::function<void(const Ranks&)>;

/// A way to make ranks. The suites below run on each.
struct Make {
  std::string name;
  /// Runs the test on all ranks of this process: on each thread, or on the one rank of MPI.
  std::function<Status(const RankTest&)> run;

  friend std::ostream& operator<<(std::ostream& out, const Make& make) { return out << make.name; }
};

inline std::string make_name(const testing::TestParamInfo<Make>& info) { return info.param.name; }

/// Threads that play ranks.
inline Make threads_make(ThreadRanks ranks) {
  const std::string nodes = ranks.per_node == 0 ? "" : "_by_" + std::to_string(ranks.per_node);
  return {"threads_" + std::to_string(ranks.count) + nodes, [ranks](const RankTest& test) {
            return run_ranks(ranks, [&](const Ranks& communicator) {
              test(communicator);
              return Status();
            });
          }};
}

class MakeTest : public testing::TestWithParam<Make> {
 public:
  static void on_all_ranks(const RankTest& test) {
    const Status ran = GetParam().run(test);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message());
  }
};

/// What all makes of Communicator, and their files, must do.
class CommunicatorSuite : public MakeTest {};
class MessageSuite : public MakeTest {};
class CollectiveFileSuite : public MakeTest {};

/// The value, or a failed test that says why there is none.
template <class T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + result.error().message());
  return std::move(*result);
}

inline Bytes bytes_of(std::string_view text) {
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The pattern from `offset` on.
inline Bytes pattern(std::uint64_t offset, std::size_t size_bytes) {
  Bytes bytes(size_bytes);
  fill_pattern(bytes, offset);
  return bytes;
}

/// A folder that all ranks see, gone when the last of them is done with it. Made and destroyed by
/// all ranks.
class SharedFolder {
 public:
  explicit SharedFolder(std::shared_ptr<Communicator> ranks,
                        const std::string& parent = testing::TempDir())
      : ranks_(std::move(ranks)) {
    std::string pattern = parent + "/forebay-comm-XXXXXX";
    if (is_owner() && ::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no folder";
    const Status told = ranks_->broadcast(std::as_writable_bytes(std::span(pattern)), Rank{0});
    EXPECT_TRUE(told);
    path_ = pattern;
  }
  ~SharedFolder() {
    const Status met = ranks_->barrier();
    if (is_owner() || !met) std::filesystem::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  bool is_owner() const { return ranks_->rank() == Rank{0}; }

  std::shared_ptr<Communicator> ranks_;
  std::string path_;
};

}  // namespace forebay::comm
