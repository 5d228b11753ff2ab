// SPDX-License-Identifier: Apache-2.0
// Errors: their text for people, and their class for programs.
#include <forebay/error.hpp>

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay {
namespace {

TEST(Error, message_names_operation_path_offset_errno_and_cause) {
  const Error error = system_error({.operation = "read",
                                    .path = "snapshot.tipsy",
                                    .offset_bytes = 4096,
                                    .cause = "try another disk"},
                                   EIO);
  EXPECT_EQ(error.message(),
            "read snapshot.tipsy at offset 4096: Input/output error (EIO): try another disk");
}

TEST(Error, message_omits_unknown_parts) {
  EXPECT_EQ(Error({.kind = ErrorClass::kClosed, .operation = "read"}).message(), "read: closed");
  EXPECT_EQ(
      Error({.kind = ErrorClass::kDamage, .operation = "parse", .cause = "bad magic"}).message(),
      "parse: bad magic");
  EXPECT_EQ(system_error({.operation = "open", .path = "x"}, ENOENT).message(),
            "open x: No such file or directory (ENOENT)");
}

TEST(Error, offset_zero_is_an_offset) {
  const Error error({.operation = "read", .path = "x", .offset_bytes = 0, .cause = "why"});
  EXPECT_EQ(error.message(), "read x at offset 0: why");
}

TEST(Error, unknown_errno_is_printed_as_a_number) {
  EXPECT_EQ(system_error({.operation = "open"}, 9999).message(), "open: error 9999");
}

TEST(Error, copies_have_the_same_message) {
  const Error error({.kind = ErrorClass::kLimit, .operation = "read", .path = "x"});
  const Error copy = error;  // NOLINT: the copy is the point
  EXPECT_EQ(copy.message(), error.message());
  EXPECT_EQ(copy.kind(), ErrorClass::kLimit);
}

TEST(Error, class_follows_from_errno) {
  const auto class_of = [](int number) { return system_error({}, number).kind(); };
  EXPECT_EQ(class_of(ENOENT), ErrorClass::kNotFound);
  EXPECT_EQ(class_of(ENOTDIR), ErrorClass::kNotFound);
  EXPECT_EQ(class_of(EACCES), ErrorClass::kPermission);
  EXPECT_EQ(class_of(EROFS), ErrorClass::kPermission);
  EXPECT_EQ(class_of(ENOSPC), ErrorClass::kNoSpace);
  EXPECT_EQ(class_of(EDQUOT), ErrorClass::kNoSpace);
  EXPECT_EQ(class_of(EINVAL), ErrorClass::kInvalidArgument);
  EXPECT_EQ(class_of(EMFILE), ErrorClass::kLimit);
  EXPECT_EQ(class_of(ENOMEM), ErrorClass::kLimit);
  EXPECT_EQ(class_of(EOPNOTSUPP), ErrorClass::kUnsupported);
  EXPECT_EQ(class_of(ECANCELED), ErrorClass::kCancelled);
  EXPECT_EQ(class_of(EIO), ErrorClass::kIo);
  EXPECT_EQ(class_of(ESTALE), ErrorClass::kIo);
}

TEST(Error, errno_overrides_the_class_in_the_details) {
  const Error error = system_error({.kind = ErrorClass::kDamage}, ENOSPC);
  EXPECT_EQ(error.kind(), ErrorClass::kNoSpace);
  EXPECT_EQ(error.error_number(), ENOSPC);
}

TEST(Error, class_names_are_distinct) {
  std::set<std::string_view> names;
  const int last = static_cast<int>(ErrorClass::kException);
  for (int kind = 0; kind <= last; ++kind) {
    names.insert(name_of(static_cast<ErrorClass>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(name_of(ErrorClass::kNotFound), "not-found");
  EXPECT_EQ(name_of(ErrorClass::kShortFile), "short-file");
}

TEST(Error, with_location_fills_in_missing_parts) {
  const Error bare({.kind = ErrorClass::kLimit, .operation = "plan", .cause = "too much"});
  const Error annotated = with_location(bare, "data", 7);
  EXPECT_EQ(annotated.message(), "plan data at offset 7: too much");
  EXPECT_EQ(annotated.kind(), ErrorClass::kLimit);
  EXPECT_EQ(bare.message(), "plan: too much");
  EXPECT_EQ(with_location(annotated, "other", 9).message(), annotated.message());
  EXPECT_EQ(with_location(bare, "data").message(), "plan data: too much");
}

TEST(Error, with_rank_keeps_an_existing_rank) {
  const Error bare({.kind = ErrorClass::kLimit, .operation = "plan", .offset_bytes = 7});
  const Error annotated = with_rank(bare, 3);
  EXPECT_EQ(annotated.message(), "rank 3: plan at offset 7: limit");
  EXPECT_EQ(annotated.kind(), ErrorClass::kLimit);
  EXPECT_EQ(annotated.rank(), 3U);
  EXPECT_FALSE(bare.rank());
  EXPECT_EQ(with_rank(annotated, 1).rank(), 3U);
  EXPECT_EQ(with_location(annotated, "data").rank(), 3U);
}

TEST(Error, failure_makes_a_result_without_a_value) {
  const Result<int> result = failure({.kind = ErrorClass::kLimit, .operation = "read"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorClass::kLimit);
}

TEST(Error, message_is_one_line_of_valid_utf8) {
  const auto message_of = [](std::string path) {
    return Error({.operation = "open", .path = std::move(path), .cause = "why"}).message();
  };
  EXPECT_EQ(message_of("a\nb\x1b[1m\x7f"), "open a\\nb\\x1b[1m\\x7f: why");
  EXPECT_EQ(message_of("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "open caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80: why");
  EXPECT_EQ(message_of("\xff\xc3"), "open \\xff\\xc3: why")
      << "an invalid byte, and half of a character";
  EXPECT_EQ(message_of("\xc0\xaf"), "open \\xc0\\xaf: why") << "overlong";
  EXPECT_EQ(message_of("\xed\xa0\x80"), "open \\xed\\xa0\\x80: why") << "a surrogate";
}

TEST(Error, too_many_open_files_names_the_limit) {
  EXPECT_TRUE(
      message_contains(system_error({.operation = "open", .path = "x"}, EMFILE), "ulimit -n"));
}

TEST(Result, of_bool_copies_the_value_of_another) {
  Result<bool> no = false;
  const Result<bool> constant = false;
  const Result<bool> from_variable(no);
  const Result<bool> from_constant(constant);
  const Result<bool> from_moved(std::move(constant));  // NOLINT: a const object is not moved
  for (const Result<bool>* const copy : {&from_variable, &from_constant, &from_moved})
    EXPECT_FALSE(copy->value());
}

TEST(Result, is_assigned_values_failures_and_results) {
  Result<std::string> result = "first";
  result = std::string("second");
  EXPECT_EQ(*result, "second");
  result = failure({.kind = ErrorClass::kLimit});
  EXPECT_EQ(result.error().kind(), ErrorClass::kLimit);
  result = Result<std::string>("third").map([](const std::string& text) { return text + "!"; });
  EXPECT_EQ(*result, "third!");
  Status status = failure({.kind = ErrorClass::kIo});
  status = {};
  EXPECT_TRUE(status);
}

TEST(Result, chain_passes_the_value_as_it_is_held) {
  Result<std::unique_ptr<int>> held = std::make_unique<int>(1);
  const Result<int> seen = held.and_then([](std::unique_ptr<int>& value) -> Result<int> {
    *value = 2;
    return *value;
  });
  EXPECT_EQ(*seen, 2);
  const auto moved = std::move(held).map([](std::unique_ptr<int> value) { return *value + 1; });
  static_assert(std::is_same_v<decltype(moved), const Result<int>>);
  EXPECT_EQ(*moved, 3);
  const Status failed = failure({.kind = ErrorClass::kIo});
  EXPECT_EQ(failed.and_then([] { return Status(); }).error().kind(), ErrorClass::kIo);
}

static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
static_assert(
    !std::is_constructible_v<Result<std::unique_ptr<int>>, Result<std::unique_ptr<int>>&>);

}  // namespace
}  // namespace forebay
