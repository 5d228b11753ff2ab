// SPDX-License-Identifier: Apache-2.0
// An Error keeps its content on the way to another rank.
#include "comm/error_bytes.hpp"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "comm/message_bytes.hpp"
#include "comm/message_testing.hpp"

namespace forebay::comm {
namespace {

void expect_same(const Error& sent) {
  const Result<Error> decoded = error_from_bytes(to_bytes(sent));
  ASSERT_TRUE(decoded) << decoded.error().message();
  const Error& got = *decoded;
  EXPECT_EQ(got.kind(), sent.kind());
  EXPECT_EQ(got.operation(), sent.operation());
  EXPECT_EQ(got.path(), sent.path());
  EXPECT_EQ(got.offset_bytes(), sent.offset_bytes());
  EXPECT_EQ(got.error_number(), sent.error_number());
  EXPECT_EQ(got.cause(), sent.cause());
  EXPECT_EQ(got.rank(), sent.rank());
}

TEST(ErrorBytes, round_trip_keeps_all_members) {
  expect_same(Error({.kind = ErrorClass::kException}));
  expect_same(Error({.operation = "read", .path = std::string(5000, 'p'), .offset_bytes = 0}));
  expect_same(with_rank(system_error({.operation = "write",
                                      .path = "data",
                                      .offset_bytes = UINT64_MAX,
                                      .cause = std::string("with\0zero", 9)},
                                     EIO),
                        3));
}

TEST(ErrorBytes, malformed_bytes_are_refused_by_field) {
  const Error error = with_rank(
      system_error({.operation = "read", .path = "data", .offset_bytes = 7, .cause = "c"}, EIO), 3);
  expect_safe_decoding(to_bytes(error), error_from_bytes);
}

TEST(MessageBytes, count_beyond_the_message_is_refused_without_an_allocation) {
  MessageWriter out;
  out.number(std::uint64_t{1} << 62U);
  const Bytes bytes = std::move(out).take();
  MessageReader in("test", bytes);
  EXPECT_TRUE(in.list<std::uint64_t>("numbers").empty());
  const Status parsed = in.finish();
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message(),
            "read message 'test': field 'numbers' is 4611686018427387904: the message is too "
            "short");
}

TEST(MessageBytes, header_is_checked_against_the_rule_of_its_kind) {
  constexpr std::array<MessageRule, 2> kRules{{{.name = "first", .words = 1}, {"second", 0, 4, 8}}};
  const auto is_right = [&](const LinkHeader& header) {
    return check_header(header, kRules).has_value();
  };
  EXPECT_TRUE(is_right({.kind = 0, .words = {7}}));
  EXPECT_FALSE(is_right({.kind = 0, .words = {0, 7}}));
  EXPECT_FALSE(is_right({.payload_bytes = 1, .kind = 0}));
  EXPECT_FALSE(is_right({.payload_bytes = 3, .kind = 1}));
  EXPECT_TRUE(is_right({.payload_bytes = 8, .kind = 1}));
  EXPECT_FALSE(is_right({.payload_bytes = 9, .kind = 1}));
  EXPECT_FALSE(is_right({.kind = 2}));
}

}  // namespace
}  // namespace forebay::comm
