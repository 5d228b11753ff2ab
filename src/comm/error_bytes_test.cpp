// SPDX-License-Identifier: Apache-2.0
// An Error survives the way to another rank.
#include "comm/error_bytes.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace forebay::comm {
namespace {

void expect_same(const Error& sent) {
  const Error got = error_from(to_bytes(sent));
  EXPECT_EQ(got.kind(), sent.kind());
  EXPECT_EQ(got.operation(), sent.operation());
  EXPECT_EQ(got.path(), sent.path());
  EXPECT_EQ(got.offset_bytes(), sent.offset_bytes());
  EXPECT_EQ(got.error_number(), sent.error_number());
  EXPECT_EQ(got.cause(), sent.cause());
  EXPECT_EQ(got.rank(), sent.rank());
}

TEST(ErrorBytes, hold_all_that_an_error_does) {
  expect_same(Error({.kind = ErrorClass::kException}));
  expect_same(Error({.operation = "read", .path = std::string(5000, 'p'), .offset_bytes = 0}));
  expect_same(on_rank(system_error({.operation = "write",
                                    .path = "data",
                                    .offset_bytes = UINT64_MAX,
                                    .cause = std::string("with\0zero", 9)},
                                   EIO),
                      3));
}

}  // namespace
}  // namespace forebay::comm
