// SPDX-License-Identifier: Apache-2.0
// Disks that are full and quotas that are used up, on real file systems: when it is known, what is
// said of it, and that what was there before and what is elsewhere come to no harm.
#include <filesystem>
#include <memory>

#include "fixtures.hpp"

namespace forebay::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDisk = 32_MiB;
constexpr std::uint64_t kTooMuch = 40_MiB;

std::vector<Way> ways_with(std::vector<Preallocation> preallocations) {
  std::vector<Way> all;
  for (const Preallocation preallocation : preallocations) {
    for (Way way : ways()) {
      way.preallocation = preallocation;
      way.name += "_" + std::string(name_of(preallocation));
      all.push_back(way);
    }
  }
  return all;
}

class FullDisk : public StreamsOn<LoopDisk> {
  std::unique_ptr<LoopDisk> make_storage() const override {
    return std::make_unique<LoopDisk>(LoopDisk::Plan{.size_bytes = kDisk});
  }
};

void expect_no_space(const Error& error, const std::string& path) {
  EXPECT_EQ(error.kind(), ErrorClass::kNoSpace) << error.message();
  EXPECT_EQ(error.error_number(), ENOSPC) << error.message();
  EXPECT_EQ(error.path(), path);
  EXPECT_TRUE(error.offset_bytes().has_value()) << error.message();
  EXPECT_TRUE(mentions(error, " bytes are wanted, the file system has ")) << error.message();
}

using DiskTooSmall = FullDisk;

TEST_P(DiskTooSmall, for_what_is_expected_is_told_before_the_first_byte) {
  const std::uint64_t free_before = storage->free_bytes();
  const std::string path = *storage / "data";
  {
    OutputStream out = make_stream();
    const OutputFile file = must(out.create(path, kTooMuch));
    auto held = must(out.acquire());
    EXPECT_TRUE(works(submit_pattern(out, file, {0, kBuffer})));
    const Status drained = out.drain();
    ASSERT_FALSE(drained);
    expect_no_space(drained.error(), path);
    expect_refusals(out, file, drained.error());
    held.release();
    EXPECT_EQ(out.report().bytes, 0U);
  }
  EXPECT_EQ(fs::file_size(path), 0U);
  EXPECT_EQ(storage->free_bytes(), free_before) << "what was reserved in vain stays reserved";
}

TEST_P(DiskTooSmall, for_a_file_of_several_processes_is_told_by_create) {
  const std::uint64_t free_before = storage->free_bytes();
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  for (const Publication publication : {Publication::kAtOnce, Publication::kWhenComplete}) {
    const auto file = out.create(path, {.expected_bytes = kTooMuch,
                                        .publication = publication,
                                        .writers = Writers::kOtherProcesses});
    ASSERT_EQ(error_class(file), ErrorClass::kNoSpace);
    EXPECT_EQ(file.error().error_number(), ENOSPC) << file.error().message();
    EXPECT_TRUE(mentions(file.error(), " bytes are wanted, the file system has "));
    EXPECT_EQ(storage->free_bytes(), free_before) << "what was reserved in vain stays reserved";
  }
  EXPECT_TRUE(works(out.drain())) << "the stream goes on";
}

INSTANTIATE_TEST_SUITE_P(All,
                         DiskTooSmall,
                         ::testing::ValuesIn(ways_with({Preallocation::kExpected,
                                                        Preallocation::kGrowing})),
                         way_name);

TEST_P(FullDisk, full_in_mid_stream_harms_neither_what_is_there_nor_what_is_elsewhere) {
  const TemporaryFolder other_disk;
  OutputStream elsewhere = make_stream();
  const OutputFile good = must(elsewhere.create(other_disk / "good"));
  EXPECT_TRUE(works(submit_all(elsewhere, good, {0, 4 * kBuffer}, kBuffer)));
  {
    OutputStream out = make_stream();
    const CreateOptions later{.publication = Publication::kWhenComplete};
    const OutputFile first = must(out.create(*storage / "first", later));
    EXPECT_TRUE(works(submit_all(out, first, {0, 5 * kBuffer + 77}, kBuffer)));
    EXPECT_TRUE(works(first.publish()));
    storage::write_pattern_file(*storage / "second", 1000);
    const OutputFile second = must(out.create(*storage / "second", later));
    auto held = must(out.acquire());
    const Error error = error_of(out, second, kTooMuch);
    expect_no_space(error, second.written_path());
    EXPECT_LT(error.offset_bytes().value_or(0), kDisk);
    expect_refusals(out, second, error);
    held.release();
    EXPECT_TRUE(works(submit_all(elsewhere, good, {4 * kBuffer, 2 * kBuffer}, kBuffer)));
  }
  EXPECT_TRUE(works(elsewhere.drain()));
  EXPECT_TRUE(is_pattern(other_disk / "good", 6 * kBuffer));
  EXPECT_TRUE(is_pattern(*storage / "first", 5 * kBuffer + 77));
  EXPECT_TRUE(is_pattern(*storage / "second", 1000));
  EXPECT_TRUE(temporaries_of(*storage / "second").empty());
}

TEST_P(FullDisk, a_file_that_just_fits_is_written_and_takes_no_more_than_it_needs) {
  const std::uint64_t size = storage->free_bytes() - 2_MiB + 77;
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  {
    const OutputFile file = must(out.create(path));
    EXPECT_TRUE(works(submit_all(out, file, {0, size}, kBuffer)));
    EXPECT_TRUE(works(file.publish()));
  }
  EXPECT_TRUE(is_pattern(path, size));
  EXPECT_GT(storage->free_bytes(), 1_MiB) << "what was reserved in vain stays reserved";
}

TEST_P(FullDisk, two_files_share_what_is_left) {
  const std::uint64_t half = storage->free_bytes() / 2 - 2_MiB;
  OutputStream out = make_stream();
  {
    const OutputFile one = must(out.create(*storage / "one"));
    const OutputFile two = must(out.create(*storage / "two"));
    for (std::uint64_t done = 0; done < half; done += kBuffer) {
      const ByteRange piece{done, std::min(kBuffer, half - done)};
      EXPECT_TRUE(works(submit_pattern(out, one, piece)));
      EXPECT_TRUE(works(submit_pattern(out, two, piece)));
    }
  }
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(*storage / "one", half));
  EXPECT_TRUE(is_pattern(*storage / "two", half));
}

TEST_P(FullDisk, a_short_file_does_not_hold_what_others_need) {
  const LoopDisk larger({.size_bytes = 96_MiB});
  ASSERT_EQ(larger.reason_against(), "");
  OutputStream out = make_stream();
  const OutputFile one = must(out.create(larger / "one"));
  const OutputFile two = must(out.create(larger / "two"));
  EXPECT_TRUE(works(submit_pattern(out, one, {0, kBuffer})));
  EXPECT_TRUE(works(submit_all(out, two, {0, 60_MiB}, kBuffer)));
  EXPECT_TRUE(works(out.drain()));
  EXPECT_TRUE(is_pattern(larger / "two", 60_MiB));
}

TEST_P(FullDisk, a_gap_that_would_not_fit_takes_no_space) {
  const std::string path = *storage / "data";
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(path));
  EXPECT_TRUE(works(submit_pattern(out, file, {0, kBuffer})));
  EXPECT_TRUE(works(submit_pattern(out, file, {kTooMuch, kBuffer})));
  EXPECT_TRUE(works(file.publish()));
  EXPECT_EQ(fs::file_size(path), kTooMuch + kBuffer);
  EXPECT_GT(storage->free_bytes(), 20_MiB) << "the gap has space";
}

TEST_P(FullDisk, after_space_was_made_a_new_stream_writes) {
  const std::string path = *storage / "data";
  storage::write_pattern_file(*storage / "large", 15_MiB);
  {
    OutputStream out = make_stream();
    const OutputFile file = must(out.create(path));
    EXPECT_EQ(error_of(out, file, 20_MiB).kind(), ErrorClass::kNoSpace);
  }
  fs::remove(*storage / "large");
  OutputStream out = make_stream();
  const OutputFile file = must(out.create(path));
  EXPECT_TRUE(works(submit_all(out, file, {0, 20_MiB}, kBuffer)));
  EXPECT_TRUE(works(file.publish()));
  EXPECT_TRUE(is_pattern(path, 20_MiB));
}

INSTANTIATE_TEST_SUITE_P(All,
                         FullDisk,
                         ::testing::ValuesIn(ways_with({Preallocation::kNone,
                                                        Preallocation::kGrowing})),
                         way_name);

}  // namespace
}  // namespace forebay::faults
