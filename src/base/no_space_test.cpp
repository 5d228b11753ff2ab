// SPDX-License-Identifier: Apache-2.0
#include "base/no_space.hpp"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

TEST(NoSpace, cause_states_wanted_and_free_bytes) {
  EXPECT_EQ(no_space_cause(70, 100, ENOSPC),
            "100 bytes are requested, the file system has 70 free; free some, or write elsewhere");
  EXPECT_EQ(no_space_cause(std::nullopt, 100, ENOSPC),
            "100 bytes are requested; free some, or write elsewhere");
  EXPECT_EQ(no_space_cause(70, 100, EDQUOT),
            "100 bytes are requested; free some, or write elsewhere");
  EXPECT_EQ(no_space_cause(70, 100, EIO), "");
}

TEST(NoSpace, note_is_added_only_if_storage_is_full) {
  const TemporaryDirectory directory;
  const ErrorDetails where{.operation = "write", .path = directory.path(), .cause = "MPI: full"};
  const Error full = with_free_space(system_error(where, ENOSPC), 100);
  EXPECT_TRUE(full.cause().starts_with("MPI: full; 100 bytes are requested, the file system has "))
      << full.cause();
  EXPECT_EQ(with_free_space(system_error(where, EIO), 100).cause(), "MPI: full");
}

}  // namespace
}  // namespace forebay
