// SPDX-License-Identifier: Apache-2.0
// Hint files: the example of the page is read, damage is refused with path, line and key, and files
// find their hints.
#include "push/hint_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::push {
namespace {

constexpr const char* kSound = "signature = \"read (0, 1)\"\n";

/// An example of the page, from 0.
std::string page_example(int number = 0) {
  std::ifstream in(FOREBAY_SOURCE_DIR "/docs/formats/hints.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  std::size_t first = text.find("```toml\n") + 8;
  for (; number > 0; --number)
    first = text.find("```toml\n", first) + 8;
  return text.substr(first, text.find("```", first) - first);
}

TEST(HintFile, example_of_the_page_is_read_as_documented) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a.hints") << page_example();
  const auto hints = read_hint_file(directory / "a.hints");
  ASSERT_TRUE(hints) << hints.error().message();
  ASSERT_EQ(hints->size(), 2U);
  EXPECT_EQ((*hints)[0].file, "/data/in.bin");
  EXPECT_EQ(to_text(*(*hints)[0].signature), "read {200 x (65536 i, 1024)}");
  EXPECT_EQ((*hints)[0].reads, 200U);
  EXPECT_EQ((*hints)[0].explained, 0.98);
  EXPECT_EQ((*hints)[1].reads, 0U);
  EXPECT_EQ((*hints)[1].explained, 1);
}

TEST(HintFile, parametric_example_of_the_page_is_read_and_written_as_documented) {
  const TemporaryDirectory directory;
  const auto hints = parse_hints(page_example(1), "page");
  ASSERT_TRUE(hints) << hints.error().message();
  ASSERT_EQ(hints->size(), 1U);
  EXPECT_EQ((*hints)[0].signature, nullptr);
  const std::vector<std::string> names = {"n", "m", "start", "stride", "size"};
  EXPECT_EQ((*hints)[0].parametric->parameters, names);
  ASSERT_TRUE(write_hint_file(directory / "a.hints", *hints));
  const auto again = read_hint_file(directory / "a.hints");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ((*again)[0].parametric->text, (*hints)[0].parametric->text);
  EXPECT_EQ((*again)[0].parametric->parameters, names);
}

TEST(HintFile, file_without_hints_is_valid) {
  const auto hints = parse_hints("format = 1", "empty");
  ASSERT_TRUE(hints) << hints.error().message();
  EXPECT_TRUE(hints->empty());
}

struct BadHints {
  std::string text;
  std::string cause;  ///< part of it
};

class HintFileErrors : public ::testing::TestWithParam<BadHints> {};

TEST_P(HintFileErrors, error_names_path_line_and_key) {
  const auto hints = parse_hints(GetParam().text, "a.hints");
  ASSERT_EQ(error_class(hints), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(hints.error(), "read hints a.hints: line "))
      << hints.error().message();
  EXPECT_TRUE(message_contains(hints.error(), GetParam().cause)) << hints.error().message();
}

BadHints bad_hint(const std::string& lines, const std::string& cause) {
  return {"format = 1\n[[hint]]\n" + lines, cause};
}

INSTANTIATE_TEST_SUITE_P(
    All,
    HintFileErrors,
    ::testing::Values(
        BadHints{"", "line 1: format is missing"},
        BadHints{"format = 2", "line 1: this format is unknown: write \"format = 1\""},
        BadHints{"format = \"1\"", "this format is unknown"},
        BadHints{"format = 1\nhints = 3", "line 2: there is no key \"hints\""},
        BadHints{"format = 1\nhint = 3", "line 2: hint is not an array of tables"},
        BadHints{"format = 1\nhint = [3]", "write [[hint]] for each"},
        bad_hint("file = 7\n", "line 3: hint.file is not a string"),
        bad_hint(kSound, "line 2: hint.file is missing: add it"),
        bad_hint("file = \"\"\n" + std::string(kSound), "hint.file is empty"),
        bad_hint("file = \"a\\u0000b\"\n" + std::string(kSound), "has a zero byte"),
        bad_hint("file = \"a\"\n", "line 2: hint.signature is missing"),
        bad_hint("file = \"a\"\nsignature = 1\n", "line 4: hint.signature is not a string"),
        bad_hint("file = \"a\"\nsignature = \"read {2 y (0, 1)}\"\n",
                 "line 4: hint.signature: line 1, column 9: expected"),
        bad_hint("file = \"a\"\nsignature = \"read {4 x (4611686018427387904 i, 1)}\"\n",
                 "line 4: hint.signature: line 1, column 11: offset exceeds 2^63 - 1"),
        bad_hint("file = \"a\"\nsignature = \"write (0, 1)\"\n",
                 "line 4: hint.signature describes writes"),
        bad_hint("file = \"a\"\nreads = -1\n" + std::string(kSound), "line 4: hint.reads is -1"),
        bad_hint("file = \"a\"\nreads = 1.5\n" + std::string(kSound), "hint.reads is not a whole"),
        bad_hint("file = \"a\"\nexplained = 1.5\n" + std::string(kSound),
                 "line 4: hint.explained is 1.5: write a number between 0 and 1"),
        bad_hint("file = \"a\"\nexplained = nan\n" + std::string(kSound), "between 0 and 1"),
        bad_hint("file = \"a\"\nread = 1\n" + std::string(kSound),
                 "the nearest one is \"hint.reads\""),
        bad_hint("file = \"a\"\nparameters = 1\n" + std::string(kSound),
                 "line 4: hint.parameters is not an array of strings"),
        bad_hint("file = \"a\"\nparameters = [\"n\", 1]\n" + std::string(kSound),
                 "hint.parameters is not an array of strings"),
        bad_hint("file = \"a\"\nparameters = [\"x\"]\n" + std::string(kSound),
                 "line 5: hint.signature: a parameter is not a name"),
        bad_hint("file = \"a\"\nparameters = [\"n\"]\nsignature = \"read (m, 1)\"\n",
                 "line 5: hint.signature: line 1, column 7: \"m\" is neither"),
        bad_hint("file = \"a\"\nsignature = \"read (0,", "line 4")));

TEST(HintFile, every_truncation_is_an_error_or_a_shorter_list) {
  const std::string whole = page_example();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto hints = parse_hints(whole.substr(0, size), "cut");
    if (hints) {
      EXPECT_LE(hints->size(), 2U);
    } else {
      EXPECT_TRUE(hints.error().cause().starts_with("line ")) << hints.error().message();
    }
  }
}

TEST(HintFile, too_many_hints_are_refused) {
  std::string text = "format = 1\n";
  for (std::size_t i = 0; i < kHintsMax; ++i)
    text += "[[hint]]\nfile = \"a\"\n" + std::string(kSound);
  EXPECT_EQ(parse_hints(text, "full").value().size(), kHintsMax);
  const auto hints = parse_hints(text + "[[hint]]\n", "over");
  ASSERT_EQ(error_class(hints), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(hints.error(), "there are 4097 hints: write at most 4096"));
}

TEST(HintFile, missing_or_too_long_file_is_an_error) {
  EXPECT_EQ(error_class(read_hint_file("/no/such.hints")), ErrorClass::kNotFound);
  const TemporaryDirectory directory;
  std::ofstream(directory / "long") << std::string(kHintFileBytesMax + 1, '#');
  const auto hints = read_hint_file(directory / "long");
  ASSERT_EQ(error_class(hints), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(hints.error(), "longer than 16 MiB")) << hints.error().message();
}

TEST(HintFile, exact_path_precedes_patterns_in_file_order) {
  const std::vector<FileHint> hints = {{.file = "/data/*"},    {.file = "/data/a[1]"},
                                       {.file = "*.bin"},      {.file = "/data/a.bin"},
                                       {.file = "/data/?.b*"}, {.file = "/data/a.bin"}};
  const auto found = [&hints](std::string_view file) {
    std::vector<std::ptrdiff_t> numbers;
    for (const FileHint* hint : hints_for(hints, file))
      numbers.push_back(hint - hints.data());
    return numbers;
  };
  using Numbers = std::vector<std::ptrdiff_t>;
  EXPECT_EQ(found("/data/a.bin"), (Numbers{3, 5, 0, 2, 4}));
  EXPECT_EQ(found("/data/a[1]"), (Numbers{1, 0}));
  EXPECT_EQ(found("/data/a1"), (Numbers{0, 1}));
  EXPECT_EQ(found("/data/b/c"), (Numbers{0}));
  EXPECT_EQ(found("/dat"), (Numbers{}));
}

TEST(HintFile, hint_for_a_version_is_not_for_a_changed_file) {
  const TemporaryDirectory directory;
  const std::string path = directory / "data";
  std::ofstream(path) << "12345";
  const FileVersion version = version_of(path);
  EXPECT_EQ(version.size_bytes, 5U);
  const auto signature = parse_hints(
                             "format = 1\n[[hint]]\nfile = \"a\"\n"
                             "signature = \"read (0, 5)\"\n",
                             "text")
                             .value()
                             .front()
                             .signature;
  const std::vector<FileHint> written = {
      {.file = path, .signature = signature, .version = version}};
  ASSERT_TRUE(write_hint_file(directory / "hints", written));
  const auto hints = read_hint_file(directory / "hints").value();
  EXPECT_EQ(hints.front().version, version);
  EXPECT_EQ(hints_for(hints, path, version_of(path)).size(), 1U);
  EXPECT_EQ(hints_for(hints, path).size(), 1U);
  std::ofstream(path) << "123456";
  EXPECT_TRUE(hints_for(hints, path, version_of(path)).empty());
  EXPECT_EQ(version_of(directory / "none"), FileVersion());
}

TEST(HintFile, time_before_1970_is_unknown) {
  const TemporaryDirectory directory;
  auto hints = parse_hints("format = 1\n[[hint]]\nfile = \"a\"\n" + std::string(kSound), "text");
  hints->front().version = {5, static_cast<std::uint64_t>(-7'000'000'000)};
  ASSERT_TRUE(write_hint_file(directory / "hints", *hints));
  const auto again = read_hint_file(directory / "hints");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->front().version, (FileVersion{5, 0}));
}

TEST(HintFile, written_file_is_short_enough_to_be_read) {
  const TemporaryDirectory directory;
  auto hints = parse_hints("format = 1\n[[hint]]\nfile = \"a\"\n" + std::string(kSound), "text");
  trace::ListItem list;
  for (std::uint64_t i = 0; i < 100'000; ++i)
    list.accesses.push_back({i * 7919 % 100'000 * 65'536, 1024});
  hints->front().signature = std::make_shared<const trace::Signature>(
      trace::Signature{.items = {trace::Item(std::move(list))}});
  const std::vector<FileHint> many(20, hints->front());
  ASSERT_TRUE(write_hint_file(directory / "hints", many));
  const auto again = read_hint_file(directory / "hints");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_GE(again->size(), 5U);
  EXPECT_LT(again->size(), many.size());
}

}  // namespace
}  // namespace forebay::push
