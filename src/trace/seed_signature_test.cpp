// SPDX-License-Identifier: Apache-2.0
// Each signature string of the slides about the File Access Server, and bad input.
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "trace/signature.hpp"

namespace forebay::trace {
namespace {

std::string from_seed(const std::string& text) {
  const auto parsed = parse_seed_signature(text);
  return parsed ? to_text(*parsed) : parsed.error().message();
}

TEST(SeedSignature, examples_of_prediction_state_are_accepted) {
  EXPECT_EQ(from_seed("{1024, 1, (4096, 1024, 99), 1}"), "read {100 x (1024 + 4096 i, 1024)}");
  EXPECT_EQ(from_seed("{2048, 1, (8192, 2048, 99) 1}"), "read {100 x (2048 + 8192 i, 2048)}");
  EXPECT_EQ(from_seed("{4096, 1, (16384, 4096, 99),1}"), "read {100 x (4096 + 16384 i, 4096)}");
  EXPECT_EQ(from_seed("{8192, 1, (32768, 8192, 99),1}"), "read {100 x (8192 + 32768 i, 8192)}");
  EXPECT_EQ(from_seed("{4096, 2, ([2048, 1024, 1], [6144, 1024, 1]), 99}"),
            "read {100 x {2 x (4096 + 8192 i + 2048 j, 1024)}}");
  EXPECT_EQ(from_seed("{8192, 2, ([4096, 2048, 1], [12288, 2048,1], 99)}"),
            "read {100 x {2 x (8192 + 16384 i + 4096 j, 2048)}}");
}

TEST(SeedSignature, rows_of_table_are_accepted) {
  EXPECT_EQ(from_seed("{INIT, 1, (4096, 1024, 199)}"), "read {200 x (4096 i, 1024)}");
  EXPECT_EQ(from_seed("{INIT, 1, (8192, 1024, 199)}"), "read {200 x (8192 i, 1024)}");
  EXPECT_EQ(from_seed("{INIT, 1, (16384, 1024, 199)}"), "read {200 x (16384 i, 1024)}");
  EXPECT_EQ(from_seed("{INIT, 1, (32768, 1024, 199)}"), "read {200 x (32768 i, 1024)}");
  EXPECT_EQ(from_seed("{INIT, 2, ({-, 1, (4096, 1)}, {-, 1, (12288, 1)}, 99)}"),
            "read {100 x {2 x (16384 i + 4096 j, 1024)}}");
  EXPECT_EQ(from_seed("{INIT, 2, ({-, 1, (16384, 1)}, {-, 1, (49152, 1)}, 99)}"),
            "read {100 x {2 x (65536 i + 16384 j, 1024)}}");
  EXPECT_EQ(from_seed("{INIT, 2, ({-, 1, (65536, 1)}, {-, 1, (196608, 1)}, 99)}"),
            "read {100 x {2 x (262144 i + 65536 j, 1024)}}");
  EXPECT_EQ(from_seed("{INIT, 1, (42450944, 5308416, 39)}"), "read {40 x (42450944 i, 5308416)}");
}

TEST(SeedSignature, factorization_is_accepted_with_missing_brace) {
  const std::string missing =
      "{0, 3, ({1049088, 1, (524544, 1)}, {0, 1, (522368, 1)}, "
      "{524544, 1, ({518272, (-4096)}, {1, (1)}), 125}";
  const std::string complete =
      "{0, 3, ({1049088, 1, (524544, 1)}, {0, 1, (522368, 1)}, "
      "{524544, 1, ({518272, (-4096)}, {1, (1)})}), 125}";
  const std::string expected =
      "read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 522368 - 4096 j)}}";
  EXPECT_EQ(from_seed(missing), expected);
  EXPECT_EQ(from_seed(complete), expected);
  // The slide counts 8252 reads.
  EXPECT_EQ(access_count(parse_seed_signature(missing).value()), 8253U);
}

TEST(SeedSignature, table_has_number_of_reads_of_slide) {
  EXPECT_EQ(access_count(parse_seed_signature("{INIT, 1, (4096, 1024, 199)}").value()), 200U);
  EXPECT_EQ(
      access_count(
          parse_seed_signature("{INIT, 2, ({-, 1, (4096, 1)}, {-, 1, (12288, 1)}, 99)}").value()),
      200U);
  EXPECT_EQ(access_count(parse_seed_signature("{INIT, 1, (42450944, 5308416, 39)}").value()), 40U);
}

TEST(SeedSignature, parameters_replace_what_is_not_stated) {
  const auto nested =
      parse_seed_signature("{INIT, 2, ({-, 1, (4096, 1)}, {-, 1, (12288, 1)}, 99)}", 512, 2048);
  EXPECT_EQ(to_text(nested.value()), "read {100 x {2 x (512 + 16384 i + 4096 j, 2048)}}");
  const auto simple = parse_seed_signature("{INIT, 1, (4096, 1024, 199)}", 512, 2048);
  EXPECT_EQ(to_text(simple.value()), "read {200 x (512 + 4096 i, 1024)}");
}

TEST(SeedSignature, repeated_and_unequal_patterns_are_accepted) {
  EXPECT_EQ(from_seed("{0, 1, (10, 4, 2), 7}"), "read {7 x {3 x (10 j, 4)}}");
  EXPECT_EQ(from_seed("{5, 2, ([10, 1, 2], [30, 2, 1]), 9}"),
            "read {10 x {2 x (5 + 50 i + 10 j, 1)}, {1 x (25 + 50 i + 30 j, 2)}}");
  EXPECT_EQ(from_seed("{5, 2, ([10, 1, 2], [30, 1, 1]), 9}"),
            "read {10 x {3 x (5 + 50 i + 10 j, 1)}}");
  EXPECT_EQ(from_seed("{50, 1, (-10, 4, 5)}"), "read {6 x (50 - 10 i, 4)}");
}

TEST(SeedSignature, bad_text_is_refused) {
  const std::string prefix = "parse signature of the seed: line 1, column ";
  EXPECT_EQ(from_seed(""), prefix + "1: expected \"{\", found the end of the text");
  EXPECT_EQ(from_seed("{OUT, 1, (1, 1, 1)}"), prefix + "2: expected a number, found \"OUT\"");
  EXPECT_EQ(from_seed("{0, 1, (1, 1, 1)"),
            prefix + "17: expected \"}\", found the end of the text");
  EXPECT_EQ(from_seed("{0, 1, (1, 1, 1)} {"),
            prefix + "19: expected the end of the text, found \"{\"");
  EXPECT_EQ(from_seed("{0, 2, ([1, 1, 1]), 9}"), prefix + "18: expected \",\", found \")\"");
  EXPECT_EQ(from_seed("{0, 2, ([1, 1, 1], [1, 1, 1], 9}"),
            prefix + "32: expected \")\", found \"}\"");
  EXPECT_EQ(from_seed("{0, 0, ([1, 1, 1]), 9}"),
            prefix + "18: expected as many elements as dimensions, found \")\"");
}

TEST(SeedSignature, numbers_out_of_range_are_refused) {
  const std::string form = "expected numbers of one of the forms in docs/formats/signature.md";
  EXPECT_TRUE(from_seed("{0, 1, (1, 1, 9223372036854775807)}").ends_with(form));
  EXPECT_FALSE(
      parse_seed_signature("{0, 2, ([0, 1, 9223372036854775807], [0, 1, 1]), 0}").has_value());
  EXPECT_TRUE(from_seed("{0, 1, (1, 1, 1), 0}").ends_with(form));
  EXPECT_TRUE(from_seed("{0, 2, ([4611686018427387904, 1, 2], [1, 1, 1]), 9}").ends_with(form));
  EXPECT_TRUE(from_seed("{0, 2, ([1, 1, 1], {5, 1, (1, 1)}), 9}").ends_with(form));
  EXPECT_TRUE(from_seed("{0, 1, ({5, 1, (1, 1)}), 9}").find("expected a number") !=
              std::string::npos);
  EXPECT_TRUE(from_seed("{0, 1, (-10, 4, 5)}").ends_with("offset is negative at i = 5"));
  EXPECT_TRUE(
      from_seed("{9223372036854775808, 1, (1, 1, 1)}").ends_with("a number up to 2^63 - 1"));
  EXPECT_FALSE(parse_seed_signature("{INIT, 1, (1, 1, 1)}", UINT64_MAX).has_value());
}

}  // namespace
}  // namespace forebay::trace
