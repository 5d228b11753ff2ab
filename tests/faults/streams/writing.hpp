// SPDX-License-Identifier: Apache-2.0
// What tests of streams under real faults share: the ways in which a user may ask for writing, by
// the public interface alone, and what must hold of a stream that has failed.
#pragma once

#include <forebay/runtime.hpp>

#include <cerrno>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stream/testing.hpp"

namespace forebay::faults {

using stream::is_pattern;
using stream::must;
using stream::submit_all;
using stream::submit_pattern;
using stream::temporaries_of;
using stream::works;

inline constexpr std::uint64_t kBuffer = 1_MiB;

struct Way {
  std::string name;
  Access access = Access::kBuffered;
  EngineChoice engine = EngineChoice::kAuto;
  std::optional<Preallocation> preallocation = {};

  StreamPlan plan() const {
    return {
        .access = access, .buffer_bytes = kBuffer, .buffers = 4, .preallocation = preallocation};
  }
};

inline std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
inline std::string way_name(const ::testing::TestParamInfo<Way>& info) { return info.param.name; }

inline std::vector<Way> ways() {
  return {{"buffered"},
          {"direct", Access::kDirect},
          {"direct_by_threads", Access::kDirect, EngineChoice::kThreads}};
}

/// Writes the pattern until the stream says that something is wrong, at the latest in sync().
inline Error error_of(OutputStream& out, const OutputFile& file, std::uint64_t bytes_max) {
  Status status = submit_all(out, file, {0, bytes_max}, kBuffer);
  if (status) status = out.sync();
  EXPECT_FALSE(status) << "nothing failed";
  return status ? Error({.cause = "none"}) : status.error();
}

/// Every call of a stream that has failed gives the first error.
inline void expect_refusals(OutputStream& out, const OutputFile& file, const Error& first) {
  const std::vector<std::byte> some(10);
  for (const Status& again : {out.drain(), out.sync(), file.drain(), file.sync(), file.publish(),
                              out.write(file, 0, some)}) {
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message(), first.message());
  }
  EXPECT_EQ(error_class(out.acquire()), first.kind());
  EXPECT_EQ(error_class(out.try_acquire()), first.kind());
  EXPECT_EQ(error_class(out.acquire_async().wait()), first.kind());
}

}  // namespace forebay::faults
