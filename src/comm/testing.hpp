// SPDX-License-Identifier: Apache-2.0
// Shared code of tests with several ranks: code run on all ranks of an implementation, a directory
// that all of them use, bytes that encode their offset. For tests only.
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

using CommunicatorPtr = std::shared_ptr<Communicator>;
using RankTest = std::function<void(const CommunicatorPtr&)>;

/// A way to create ranks. The suites below run on each.
struct CommunicatorFactory {
  std::string name;
  /// Runs the test on all ranks of this process: on each thread, or on the one rank of MPI.
  std::function<Status(const RankTest&)> run;

  friend std::ostream& operator<<(std::ostream& out, const CommunicatorFactory& factory) {
    return out << factory.name;
  }
};

inline std::string factory_name(const testing::TestParamInfo<CommunicatorFactory>& info) {
  return info.param.name;
}

/// Threads as ranks.
inline CommunicatorFactory thread_factory(ThreadRanks ranks) {
  const std::string nodes = ranks.per_node == 0 ? "" : "_by_" + std::to_string(ranks.per_node);
  return {"threads_" + std::to_string(ranks.count) + nodes, [ranks](const RankTest& test) {
            return run_ranks(ranks, [&](const CommunicatorPtr& communicator) {
              test(communicator);
              return Status();
            });
          }};
}

class CommunicatorTest : public testing::TestWithParam<CommunicatorFactory> {
 public:
  static void run_on_all_ranks(const RankTest& test) {
    const Status ran = GetParam().run(test);
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().message());
  }
};

/// What all implementations of Communicator, and their files, must do.
class CommunicatorSuite : public CommunicatorTest {};
class MessageSuite : public CommunicatorTest {};
class CollectiveFileSuite : public CommunicatorTest {};

/// The value, or a failed test with the Error.
template <class T>
T value_or_throw(Result<T> result, const char* what) {
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

/// A directory for all ranks, removed when the last of them is done with it. Created and destroyed
/// by all ranks.
class SharedDirectory {
 public:
  explicit SharedDirectory(std::shared_ptr<Communicator> ranks,
                           const std::string& parent = testing::TempDir())
      : ranks_(std::move(ranks)) {
    std::string pattern = parent + "/forebay-comm-XXXXXX";
    if (is_owner() && ::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no directory";
    const Status broadcast_status =
        ranks_->broadcast(std::as_writable_bytes(std::span(pattern)), Rank{0});
    EXPECT_TRUE(broadcast_status);
    path_ = pattern;
  }
  ~SharedDirectory() {
    const Status barrier_status = ranks_->barrier();
    if (is_owner() || !barrier_status) std::filesystem::remove_all(path_);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  bool is_owner() const { return ranks_->rank() == Rank{0}; }

  std::shared_ptr<Communicator> ranks_;
  std::string path_;
};

}  // namespace forebay::comm
