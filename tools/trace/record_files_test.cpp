// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/record_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "tools/trace/loaded_trace.hpp"
#include "tools/trace/streams_document.hpp"

namespace forebay::trace_tool {
namespace {

using OnDamage = trace::TraceReader::OnDamage;

const std::vector<std::string> kNames{"a.dat", "b\n.dat"};

class RecordFiles : public ::testing::Test {
 protected:
  void write(const std::vector<RecordEntry>& entries) const {
    std::ofstream(directory_ / "in", std::ios::binary)
        .write(reinterpret_cast<const char*>(entries.data()),
               static_cast<std::streamsize>(entries.size() * sizeof(RecordEntry)));
  }
  Result<RecordCounts> import(const std::vector<std::string>& names = kNames) const {
    return import_records(directory_ / "in", names, directory_ / "run.trace");
  }
  Result<RecordCounts> export_trace(OnDamage on_damage = OnDamage::kFail) const {
    return export_records({directory_ / "run.trace", on_damage}, directory_ / "out");
  }
  std::string content(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has_trace() const { return std::filesystem::exists(directory_ / "run.trace"); }

  const TemporaryDirectory directory_;
};

std::vector<RecordEntry> sample() {
  RecordEntry entry{.process = 29074, .thread = 3, .rank = 0, .has_rank = 1};
  entry.record = {.size = 1024, .begin_ns = 7'501'304'000, .file = 1};
  std::vector<RecordEntry> entries(3, entry);
  entries[1].record.offset = 2048;
  entries[2].rank = 1;
  entries[2].record = {.offset = 8192, .size = 512, .file = 0};
  entries[2].record.operation = trace::TraceOperation::kWrite;
  return entries;
}

TEST_F(RecordFiles, entries_become_streams_of_a_trace) {
  write(sample());
  const auto counts = import();
  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->records, 3U);
  EXPECT_EQ(counts->sources, 2U);
  EXPECT_EQ(counts->files, 2U);
  const auto loaded = load_trace({directory_ / "run.trace"});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->files.at(1).path, "b\n.dat");
  EXPECT_EQ(loaded->sources.at(0).process, 29074U);
  const Stream& stream = loaded->streams.at({1, 0});
  ASSERT_EQ(stream.reads.all.size(), 2U);
  EXPECT_EQ(stream.reads.all[1], (trace::Access{2048, 1024, 7'501'304'000}));
  EXPECT_EQ(loaded->streams.at({0, 1}).writes.bytes, 512U);
}

TEST_F(RecordFiles, exported_entries_equal_imported_ones) {
  write(sample());
  ASSERT_TRUE(import());
  EXPECT_EQ(export_trace()->records, 3U);
  EXPECT_EQ(content("out"), content("in"));
}

TEST_F(RecordFiles, invalid_input_leaves_no_trace) {
  auto entries = sample();
  entries[1].record.offset = UINT64_MAX;
  write(entries);
  EXPECT_EQ(error_class(import()), ErrorClass::kInvalidArgument);
  EXPECT_EQ(error_class(import({})), ErrorClass::kInvalidArgument);
  write(sample());
  std::filesystem::resize_file(directory_ / "in", sizeof(RecordEntry) + 1);
  EXPECT_FALSE(import());
  std::filesystem::remove(directory_ / "in");
  EXPECT_EQ(error_class(import()), ErrorClass::kNotFound);
  EXPECT_FALSE(has_trace());
}

TEST_F(RecordFiles, export_of_a_cut_trace_has_a_warning) {
  write(sample());
  ASSERT_TRUE(import());
  std::filesystem::resize_file(directory_ / "run.trace",
                               std::filesystem::file_size(directory_ / "run.trace") - 5);
  EXPECT_EQ(export_trace()->warnings.size(), 1U);
}

TEST_F(RecordFiles, export_skips_damage_on_request_only) {
  write(sample());
  ASSERT_TRUE(import());
  std::fstream trace(directory_ / "run.trace", std::ios::in | std::ios::out | std::ios::binary);
  trace.seekp(-5, std::ios::end);
  trace.put('\x55');
  trace.close();
  EXPECT_EQ(error_class(export_trace()), ErrorClass::kDamage);
  const auto recovered = export_trace(OnDamage::kRecover);
  ASSERT_TRUE(recovered) << recovered.error().message();
  EXPECT_EQ(recovered->records, 2U);
  EXPECT_EQ(recovered->warnings.size(), 1U);
}

TEST_F(RecordFiles, loaded_trace_is_bounded_and_has_a_warning) {
  write(std::vector<RecordEntry>(10'000, sample()[0]));
  ASSERT_TRUE(import());
  const auto loaded = load_trace({directory_ / "run.trace"}, 100'000);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->records, 10'000U);
  const std::size_t kept = loaded->streams.at({1, 0}).reads.all.size();
  EXPECT_GT(kept, 1000U);
  EXPECT_LT(kept, 3000U);
  EXPECT_EQ(loaded->omitted_records, 10'000 - kept);
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_TRUE(message_contains(loaded->warnings[0], std::to_string(loaded->omitted_records)));
}

TEST_F(RecordFiles, stream_with_an_unknown_time_has_unknown_intervals) {
  auto entries = std::vector<RecordEntry>(20, sample()[0]);
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i].record.begin_ns = 1000 * i;
  entries[7].record.begin_ns = 0;
  entries[7].record.flags = trace::kFlagTimeUnknown;
  write(entries);
  ASSERT_TRUE(import());
  const auto loaded = load_trace({directory_ / "run.trace"});
  const auto document = streams_document(*loaded, 0);
  const auto& reads = document->at("streams").at(0).at("reads");
  EXPECT_NE(reads.at("class").get<std::string>().find("unknown interval"), std::string::npos);
  EXPECT_EQ(reads.at("last_ns"), 0);
}

TEST_F(RecordFiles, progress_that_returns_false_ends_with_cancelled) {
  write(std::vector<RecordEntry>(10'000, sample()[0]));
  ASSERT_TRUE(import());
  const auto cancel = [](const command::ProgressStep& step) { return step.done > step.total; };
  const std::string trace = directory_ / "run.trace";
  EXPECT_EQ(error_class(load_trace({.path = trace, .progress = cancel})), ErrorClass::kCancelled);
  EXPECT_EQ(error_class(export_records({.path = trace, .progress = cancel}, directory_ / "out")),
            ErrorClass::kCancelled);
  EXPECT_EQ(error_class(streams_document(load_trace({trace}).value(), 0, cancel)),
            ErrorClass::kCancelled);
  EXPECT_EQ(error_class(import_records(directory_ / "in", kNames, directory_ / "b", cancel)),
            ErrorClass::kCancelled);
}

TEST_F(RecordFiles, missing_trace_is_an_error) {
  EXPECT_EQ(error_class(export_trace()), ErrorClass::kNotFound);
}

}  // namespace
}  // namespace forebay::trace_tool
