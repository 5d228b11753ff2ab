// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/text_files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "tools/trace/loaded_trace.hpp"

namespace forebay::trace_tool {
namespace {

class TextFiles : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  Result<TextCounts> import(const std::string& names = "") const {
    return import_text(directory_ / "in.txt", names.empty() ? "" : directory_ / names,
                       directory_ / "run.trace");
  }
  std::string text_of(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }

  const TemporaryDirectory directory_;
};

constexpr const char* kSample =
    "Proc ID\tRank\tFile #\tFile Pos\t# of Bytes\tTime(s)\tI/O Op\n"
    "29074\t0\t1\t0\t1024\t7.501304\tMPI_READALL\n"
    "29074\t0\t1\t2048\t1024\t7.545113\tMPI_READALL\n"
    "29075\t1\t0\t8192\t512\t7.588820\twrite\n";

TEST_F(TextFiles, text_becomes_streams_of_a_trace) {
  write("in.txt", kSample);
  write("names.txt", "a.dat\nb.dat\n");
  const auto counts = import("names.txt");
  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->records, 3U);
  EXPECT_EQ(counts->sources, 2U);
  EXPECT_EQ(counts->files, 2U);
  const auto loaded = load_trace(directory_ / "run.trace", trace::TraceReader::OnDamage::kFail);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->files.at(1).path, "b.dat");
  EXPECT_EQ(loaded->sources.at(0).process, 29074U);
  const Stream& stream = loaded->streams.at({1, 0});
  ASSERT_EQ(stream.reads.all.size(), 2U);
  EXPECT_EQ(stream.reads.all[1], (trace::Access{2048, 1024, 7'545'113'000}));
  EXPECT_EQ(loaded->streams.at({0, 1}).writes.bytes, 512U);
}

TEST_F(TextFiles, exported_text_becomes_the_same_trace) {
  write("in.txt", kSample);
  ASSERT_TRUE(import());
  ASSERT_TRUE(export_text(directory_ / "run.trace", directory_ / "out.csv"));
  std::filesystem::rename(directory_ / "out.csv", directory_ / "in.txt");
  ASSERT_TRUE(import());
  ASSERT_TRUE(export_text(directory_ / "run.trace", directory_ / "out.csv"));
  EXPECT_EQ(text_of("out.csv"), text_of("in.txt"));
}

TEST_F(TextFiles, bad_line_is_named_and_leaves_no_trace) {
  write("in.txt", std::string(kSample) + "29075\t1\t0\t-1\t512\t7.6\twrite\n");
  const auto counts = import();
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_TRUE(message_contains(counts.error(), "line 5")) << counts.error().message();
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.trace"));
}

TEST_F(TextFiles, directory_and_text_without_columns_are_errors) {
  EXPECT_FALSE(import_text(directory_.path(), "", directory_ / "run.trace"));
  write("in.txt", "");
  EXPECT_EQ(error_class(import()), ErrorClass::kInvalidArgument);
  write("in.txt", std::string(100'000, 'a'));
  EXPECT_EQ(error_class(import()), ErrorClass::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.trace"));
}

TEST_F(TextFiles, export_of_a_cut_trace_has_a_warning) {
  write("in.txt", kSample);
  ASSERT_TRUE(import());
  std::filesystem::resize_file(directory_ / "run.trace",
                               std::filesystem::file_size(directory_ / "run.trace") - 5);
  const auto counts = export_text(directory_ / "run.trace", directory_ / "out.csv");
  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->warnings.size(), 1U);
}

TEST_F(TextFiles, missing_files_are_errors) {
  EXPECT_EQ(error_class(import()), ErrorClass::kNotFound);
  EXPECT_EQ(error_class(export_text(directory_ / "no.trace", directory_ / "out")),
            ErrorClass::kNotFound);
  write("in.txt", kSample);
  EXPECT_EQ(error_class(import("no-names.txt")), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::trace_tool
