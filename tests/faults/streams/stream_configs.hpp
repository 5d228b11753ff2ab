// SPDX-License-Identifier: Apache-2.0
// Shared by tests of streams under real faults: the configurations that a user may choose, set by
// the public interface alone, and the contract of a failed stream.
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

using stream::is_ok;
using stream::is_pattern;
using stream::must;
using stream::submit_all;
using stream::submit_pattern;
using stream::temporary_files_of;

inline constexpr std::uint64_t kBuffer = 1_MiB;

struct WriteConfig {
  std::string name;
  Access access = Access::kBuffered;
  BackendChoice backend = BackendChoice::kAuto;
  std::optional<Preallocation> preallocation = {};

  StreamPlan plan() const {
    return {.access = access,
            .buffer_bytes = kBuffer,
            .buffers = 4,
            .tuning = {.preallocation = preallocation}};
  }
};

inline std::ostream& operator<<(std::ostream& out, const WriteConfig& config) {
  return out << config.name;
}
inline std::string config_name(const ::testing::TestParamInfo<WriteConfig>& info) {
  return info.param.name;
}

inline std::vector<WriteConfig> stream_configs() {
  return {{"buffered"},
          {"direct", Access::kDirect},
          {"direct_by_threads", Access::kDirect, BackendChoice::kThreads}};
}

/// Writes the pattern until the stream returns an Error, at the latest from sync().
inline Error write_until_error(OutputStream& out, const OutputFile& file, std::uint64_t bytes_max) {
  Status status = submit_all(out, file, {0, bytes_max}, kBuffer);
  if (status) status = out.sync();
  EXPECT_FALSE(status) << "no call failed";
  return status ? Error({.cause = "none"}) : status.error();
}

/// Checks that every call of a failed stream returns its first error.
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
