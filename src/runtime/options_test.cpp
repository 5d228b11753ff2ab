// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions from variables and from a file: each key sets its option, and an invalid value is
// rejected with its key.
#include "runtime/options.hpp"

#include <forebay/runtime.hpp>

#include <gtest/gtest.h>

#include "base/config.hpp"

namespace forebay {
namespace {

TEST(RuntimeOptions, empty_environment_keeps_the_defaults) {
  const auto options = options_from({});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->budget_bytes, 64_MiB);
  EXPECT_EQ(options->tuning.buffer_cache_bytes, 1_GiB);
  EXPECT_EQ(options->tuning.backend, BackendChoice::kAuto);
  EXPECT_EQ(options->tuning.copy_threads, 0U);
  EXPECT_EQ(options->placement, Placement::kInRank);
  EXPECT_EQ(options->tuning.write_thread_affinity, WriteThreadAffinity::kSeparate);
  EXPECT_EQ(options->tuning.profile, std::nullopt);
}

TEST(RuntimeOptions, empty_profile_differs_from_an_absent_one) {
  const auto options = options_from({{"FOREBAY_PROFILE", ""}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->tuning.profile, "");
}

TEST(RuntimeOptions, variables_set_their_options) {
  const auto options = options_from({{"FOREBAY_BUDGET", "16MiB"},
                                     {"FOREBAY_BUFFER_CACHE", "0"},
                                     {"FOREBAY_BACKEND", "threads"},
                                     {"FOREBAY_COPY_THREADS", "3"},
                                     {"FOREBAY_PLACEMENT", "dedicated"},
                                     {"FOREBAY_WRITE_THREAD_AFFINITY", "inherited"},
                                     {"FOREBAY_CORES", "7,2-3,3"},
                                     {"FOREBAY_MACHINE", "lustre-small"},
                                     {"FOREBAY_PROFILE", "here.toml"},
                                     {"FOREBAY_HINTS", "run.hints"},
                                     {"FOREBAY_LEARNED_HINTS", "learned.hints"},
                                     {"FOREBAY_TRACE", "run.trace"},
                                     {"FOREBAY_SAMPLES", "somewhere"},
                                     {"PATH", "elsewhere"}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->budget_bytes, 16_MiB);
  EXPECT_EQ(options->tuning.buffer_cache_bytes, 0U);
  EXPECT_EQ(options->tuning.backend, BackendChoice::kThreads);
  EXPECT_EQ(options->tuning.copy_threads, 3U);
  EXPECT_EQ(options->placement, Placement::kDedicated);
  EXPECT_EQ(options->tuning.write_thread_affinity, WriteThreadAffinity::kInherited);
  EXPECT_EQ(options->tuning.cores, (std::vector{2, 3, 7}));
  EXPECT_EQ(options->machine, "lustre-small");
  EXPECT_EQ(options->tuning.profile, "here.toml");
  EXPECT_EQ(options->hints_path, "run.hints");
  EXPECT_EQ(options->learned_hints_path, "learned.hints");
  EXPECT_EQ(options->trace_path, "run.trace");
}

TEST(RuntimeOptions, each_engine_has_its_name) {
  for (const auto& [name, engine] :
       {std::pair{"auto", BackendChoice::kAuto}, std::pair{"io_uring", BackendChoice::kIoUring},
        std::pair{"threads", BackendChoice::kThreads}, std::pair{"aio", BackendChoice::kAio}}) {
    const auto options = options_from({{"FOREBAY_BACKEND", name}});
    ASSERT_TRUE(options) << options.error().message();
    EXPECT_EQ(options->tuning.backend, engine) << name;
  }
}

TEST(RuntimeOptions, invalid_value_is_rejected_by_name) {
  for (const auto& [name, value] : Environment{{"FOREBAY_BUDGET", "1"},
                                               {"FOREBAY_BUDGET", "much"},
                                               {"FOREBAY_BACKEND", "steam"},
                                               {"FOREBAY_COPY_THREADS", "-1"},
                                               {"FOREBAY_PLACEMENT", "elsewhere"},
                                               {"FOREBAY_WRITE_THREAD_AFFINITY", "off"},
                                               {"FOREBAY_CORES", "3-2"},
                                               {"FOREBAY_CORES", "1,"},
                                               {"FOREBAY_CORES", "-1"},
                                               {"FOREBAY_CORES", "1024"},
                                               {"FOREBAY_CORES", "two"},
                                               {"FOREBAY_BUGDET", "1MiB"}}) {
    const auto options = options_from({{name, value}});
    ASSERT_FALSE(options) << name << "=" << value;
    EXPECT_EQ(options.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_FALSE(options.error().message().empty());
  }
}

TEST(AffordableBudget, is_half_of_the_free_memory_for_all_ranks_of_the_node) {
  EXPECT_EQ(affordable_budget(64_MiB, std::nullopt, 4), 64_MiB);
  EXPECT_EQ(affordable_budget(64_MiB, 4_GiB, 4), 64_MiB);
  EXPECT_EQ(affordable_budget(64_MiB, 40_MiB, 1), 20_MiB);
  EXPECT_EQ(affordable_budget(64_MiB, 40_MiB, 4), 5_MiB);
  EXPECT_EQ(affordable_budget(64_MiB, 0, 1), 64_KiB);
}

}  // namespace
}  // namespace forebay
