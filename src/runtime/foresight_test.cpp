// SPDX-License-Identifier: Apache-2.0
// Traces that a Runtime records, and hint files that it reads.
#include <forebay/runtime.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/in_process.hpp"
#include "push/hint_file.hpp"
#include "read/testing.hpp"
#include "runtime/testing.hpp"
#include "trace/signature_search.hpp"
#include "trace/trace_reader.hpp"

namespace forebay {
namespace {

constexpr std::uint64_t kReads = 100;
constexpr std::uint64_t kStride = 65536;

class ForesightTest : public ::testing::Test {
 protected:
  ForesightTest() { read::write_words(path_, kReads * kStride); }

  /// Reads the stride, and returns the report of the session.
  PrefetchReport run(const RuntimeOptions& options, Mode mode = Mode::kOnDemand) const {
    Runtime runtime(options);
    const auto session =
        runtime.open_file(path_)->read_session({.mode = mode, .readahead_bytes = 4_MiB});
    EXPECT_TRUE(session) << session.error().message();
    std::vector<std::byte> into(1024);
    for (std::uint64_t i = 0; i < kReads; ++i)
      EXPECT_TRUE(session->read(i * kStride, into).wait());
    return session->report().prefetch;
  }
  std::vector<trace::Access> recorded() const { return recorded(trace_); }
  std::vector<trace::Access> recorded(const std::string& path) const {
    auto reader = trace::TraceReader::open(storage::open_file(path).value()).value();
    std::vector<trace::Access> accesses;
    while (const auto block = reader.next().value()) {
      if (const auto* const file = std::get_if<trace::FileBlock>(&*block)) {
        EXPECT_EQ(file->info.path, path_);
      }
      const auto* const records = std::get_if<trace::RecordsBlock>(&*block);
      if (records == nullptr) continue;
      for (const trace::TraceRecord& record : records->records)
        accesses.push_back({record.offset, record.size});
    }
    return accesses;
  }
  Result<Session> open_with(const RuntimeOptions& options) {
    runtime_.emplace(options);
    return runtime_->open_file(path_)->read_session({.mode = Mode::kOnDemand});
  }
  void write_hints(const std::string& text) const { std::ofstream(hints_) << text; }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "data";
  const std::string trace_ = directory_ / "run.trace";
  const std::string hints_ = directory_ / "run.hints";
  std::optional<Runtime> runtime_;
};

TEST_F(ForesightTest, trace_of_a_run_has_its_requests_and_their_signature) {
  run({.trace_path = trace_});
  const auto accesses = recorded();
  ASSERT_EQ(accesses.size(), kReads);
  EXPECT_EQ(trace::to_text(trace::signature_of(accesses, trace::Operation::kRead).value()),
            "read {100 x (65536 i, 1024)}");
}

TEST_F(ForesightTest, sessions_that_declare_their_reads_are_recorded_too) {
  run({.trace_path = trace_}, Mode::kDeclared);
  EXPECT_EQ(recorded().size(), kReads);
}

TEST_F(ForesightTest, second_trace_replaces_the_first) {
  run({.trace_path = trace_});
  run({.trace_path = trace_});
  EXPECT_EQ(recorded().size(), kReads);
}

TEST_F(ForesightTest, io_ranks_record_no_trace) {
  const auto outcome = comm::run_ranks(
      {.count = 3, .per_node = 3}, [&](const std::shared_ptr<comm::Communicator>& ranks) {
        Runtime runtime(comm::make_ranks(ranks),
                        test_options({.placement = Placement::kDedicated, .trace_path = trace_}));
        if (runtime.role() == Role::kIo) return runtime.serve();
        std::vector<std::byte> into(8);
        EXPECT_TRUE(runtime.open_file(path_)->read_session()->read(0, into).wait());
        return Status();
      });
  EXPECT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(recorded(trace_ + ".0").size(), 1U);
  EXPECT_EQ(recorded(trace_ + ".1").size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(trace_));
}

TEST_F(ForesightTest, hint_file_leaves_at_most_one_miss) {
  write_hints(
      "format = 1\n[[hint]]\nfile = \"*/data\"\n"
      "signature = \"read {100 x (65536 i, 1024)}\"\n");
  EXPECT_LE(run({.hints_path = hints_}).misses, 1U);
}

TEST_F(ForesightTest, parametric_hint_is_bound_by_two_reads) {
  write_hints(
      "format = 1\n[[hint]]\nfile = \"*\"\n"
      "signature = \"read {n x (stride i, size)}\"\nparameters = [\"n\", \"stride\", \"size\"]\n");
  EXPECT_LE(run({.hints_path = hints_}).misses, 2U);
}

TEST_F(ForesightTest, hint_file_that_lies_changes_no_bytes) {
  write_hints(
      "format = 1\n[[hint]]\nfile = \"*\"\n"
      "signature = \"read {100000 x (4000 i + 100000000000, 7)}, {9 x (i, 9)}\"\n");
  const PrefetchReport report = run({.hints_path = hints_});
  EXPECT_EQ(report.hits + report.late + report.misses, kReads);
}

TEST_F(ForesightTest, second_run_follows_what_the_first_has_learned) {
  EXPECT_GE(run({.learned_hints_path = hints_}).misses, 1U);
  const auto learned = push::read_hint_file(hints_);
  ASSERT_TRUE(learned) << learned.error().message();
  ASSERT_EQ(learned->size(), 1U);
  EXPECT_EQ(trace::to_text(*learned->front().signature), "read {100 x (65536 i, 1024)}");
  EXPECT_LE(run({.learned_hints_path = hints_}).misses, 1U);
  EXPECT_EQ(push::read_hint_file(hints_)->size(), 1U);
}

TEST_F(ForesightTest, damaged_learned_hints_are_an_error_and_stay) {
  write_hints("format = 2\n");
  const auto session = open_with({.learned_hints_path = hints_});
  ASSERT_FALSE(session);
  runtime_.reset();
  EXPECT_EQ(std::filesystem::file_size(hints_), 11U);
}

TEST_F(ForesightTest, damaged_hint_file_is_an_error_of_each_session) {
  write_hints("format = 1\n[[hint]]\nfile = 5\n");
  const auto session = open_with({.hints_path = hints_});
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message().find("run.hints"), std::string::npos)
      << session.error().message();
}

TEST_F(ForesightTest, missing_hint_file_is_an_error_of_each_session) {
  const auto session = open_with({.hints_path = hints_});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind(), ErrorClass::kNotFound);
}

TEST_F(ForesightTest, trace_that_cannot_be_created_is_an_error_of_each_session) {
  const auto session = open_with({.trace_path = directory_ / "absent/run.trace"});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(session.error().message().find("run.trace"), std::string::npos);
}

}  // namespace
}  // namespace forebay
