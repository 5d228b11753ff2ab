// SPDX-License-Identifier: Apache-2.0
// Whole runs with files: meshes of other ranks, runs that stop, and resumed runs.
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include <gtest/gtest.h>

#include "flow/directory_store.hpp"
#include "flow/generate.hpp"
#include "flow/shared_directory_testing.hpp"
#include "flow/solver_run.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

using command::Json;
using testing::for_each_comm;
using testing::for_each_store;
using testing::SharedDirectory;

GenerateOptions small_mesh(const std::string& path) {
  return {.path = path,
          .mesh = {.cells_across = 5, .cells_along = 12, .seed = 3},
          .partition = {.parts = 9, .seed = 3}};
}

/// Fingerprint after `steps` steps on one rank without checkpoints.
std::string single_rank_fingerprint(ProblemKind problem,
                                    std::uint64_t steps,
                                    std::uint32_t averages = 0) {
  std::string fingerprint;
  run_thread_ranks(1, [&](SolverComm& comm) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_directory_store, comm));
    const auto done = run({.mesh = directory.file("mesh"),
                           .steps = steps,
                           .problem = problem,
                           .simulation = {.averages = averages}},
                          open_directory_store, comm);
    ASSERT_TRUE(done) << done.error().message();
    fingerprint = (*done)["fingerprint"];
  });
  return fingerprint;
}

/// Three steps, four more on another map, and a restart at the end.
void expect_fingerprint_after_restarts(SolverComm& comm,
                                       const StoreOpener& open_store,
                                       ProblemKind problem,
                                       const std::string& wanted) {
  const SharedDirectory directory(comm);
  ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_store, comm));
  RunOptions options{.mesh = directory.file("mesh"),
                     .checkpoints = directory.file("saved"),
                     .steps = 3,
                     .checkpoint_interval = 2,
                     .problem = problem,
                     .simulation = {.averages = 2}};
  const auto first = run(options, open_store, comm);
  ASSERT_TRUE(first) << first.error().message();
  options.start_mode = StartMode::kResume;
  options.steps = 7;
  for (const char* const mapping : {"random:5", "round-robin"}) {
    options.mapping = mapping;
    const auto second = run(options, open_store, comm);
    ASSERT_TRUE(second) << second.error().message();
    if (comm.rank() > 0) continue;
    EXPECT_EQ((*second)["fingerprint"], wanted);
    EXPECT_EQ((*second)["steps_done"], 7);
    EXPECT_EQ((*second)["first_step"], options.mapping == "round-robin" ? 7 : 3);
  }
}

TEST(Run, resumed_run_ends_with_the_same_bits_on_any_ranks) {
  for (const ProblemKind problem : {ProblemKind::kDiffusion, ProblemKind::kAdvection}) {
    const std::string wanted = single_rank_fingerprint(problem, 7, 2);
    for_each_store([&](SolverComm& comm, const StoreOpener& open_store) {
      expect_fingerprint_after_restarts(comm, open_store, problem, wanted);
    });
  }
}

TEST(Run, incomplete_step_is_ignored) {
  const std::string wanted = single_rank_fingerprint(ProblemKind::kDiffusion, 4);
  for_each_comm([&](SolverComm& comm) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_directory_store, comm));
    RunOptions options{.mesh = directory.file("mesh"),
                       .checkpoints = directory.file("saved"),
                       .steps = 4,
                       .checkpoint_interval = 2};
    ASSERT_TRUE(run(options, open_directory_store, comm));
    if (comm.rank() == 0) std::filesystem::remove(directory.file("saved/step-000004/complete"));
    comm.allgather(0);
    options.start_mode = StartMode::kResume;
    const auto again = run(options, open_directory_store, comm);
    ASSERT_TRUE(again) << again.error().message();
    if (comm.rank() > 0) return;
    EXPECT_EQ((*again)["first_step"], 2);
    EXPECT_EQ((*again)["fingerprint"], wanted);
  });
}

TEST(Run, damage_is_an_error_on_all_ranks_with_its_file) {
  for_each_comm([&](SolverComm& comm) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_directory_store, comm));
    const std::string part = directory.file("mesh/step-000000/part-000008");
    if (comm.rank() == 0) std::filesystem::resize_file(part, 100);
    comm.allgather(0);
    const auto done = run({.mesh = directory.file("mesh")}, open_directory_store, comm);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorClass::kDamage);
    EXPECT_EQ(done.error().path(), part);
  });
}

std::set<std::filesystem::path> files_below(const std::string& directory) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (std::error_code gone; entry.is_regular_file(gone) && entry.file_size(gone) > 100 && !gone)
      files.insert(entry.path());
  return files;
}

/// Writes steps 2 and 4, then step 6, whose files are truncated.
void truncate_newest_checkpoint(SolverComm& comm,
                                const StoreOpener& open_store,
                                RunOptions options) {
  options.steps = 4;
  const auto first = run(options, open_store, comm);
  ASSERT_TRUE(first) << first.error().message();
  std::set<std::filesystem::path> older;
  if (comm.rank() == 0) older = files_below(options.checkpoints);
  options.start_mode = StartMode::kResume;
  options.steps = 6;
  const auto second = run(options, open_store, comm);
  ASSERT_TRUE(second) << second.error().message();
  if (comm.rank() == 0) {
    // A file that was created ahead of need may be removed meanwhile.
    std::error_code gone;
    for (const auto& file : files_below(options.checkpoints))
      if (!older.contains(file)) std::filesystem::resize_file(file, 100, gone);
  }
  comm.allgather(0);
}

TEST(Run, resumes_from_an_older_checkpoint_if_the_newest_is_damaged) {
  const std::string wanted = single_rank_fingerprint(ProblemKind::kDiffusion, 9);
  for_each_store([&](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_store, comm));
    RunOptions options{.mesh = directory.file("mesh"),
                       .checkpoints = directory.file("saved"),
                       .steps = 9,
                       .checkpoint_interval = 2};
    truncate_newest_checkpoint(comm, open_store, options);
    options.start_mode = StartMode::kResume;
    const auto newest = run(options, open_store, comm);
    ASSERT_FALSE(newest);
    EXPECT_NE(newest.error().cause().find("steps 4, 2; resume with --resume-step 4"),
              std::string::npos)
        << newest.error().message();
    options.resume_step = 5;
    const auto missing = run(options, open_store, comm);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind(), ErrorClass::kNotFound);
    EXPECT_NE(missing.error().cause().find("those of steps 6, 4, 2"), std::string::npos)
        << missing.error().message();
    options.resume_step = 4;
    const auto older = run(options, open_store, comm);
    ASSERT_TRUE(older) << older.error().message();
    options.resume_step.reset();
    const auto again = run(options, open_store, comm);
    ASSERT_TRUE(again) << again.error().message();
    if (comm.rank() > 0) return;
    EXPECT_EQ((*older)["first_step"], 4);
    EXPECT_EQ((*older)["checkpoints_written"], 2);  // 8 and 9; the number 6 is taken
    EXPECT_EQ((*older)["fingerprint"], wanted);
    EXPECT_EQ((*again)["first_step"], 9);
  });
}

TEST(Run, resume_from_a_missing_checkpoint_fails) {
  for_each_store([&](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_store, comm));
    RunOptions options{.mesh = directory.file("mesh"), .checkpoints = directory.file("saved")};
    options.start_mode = StartMode::kResume;
    options.resume_step = 3;
    const auto done = run(options, open_store, comm);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorClass::kNotFound);
    EXPECT_NE(done.error().cause().find("the store has none"), std::string::npos);
  });
}

TEST(Run, other_settings_and_old_checkpoints_are_rejected) {
  for_each_store([&](SolverComm& comm, const StoreOpener& open_store) {
    const SharedDirectory directory(comm);
    ASSERT_TRUE(generate(small_mesh(directory.file("mesh")), open_store, comm));
    const RunOptions good{
        .mesh = directory.file("mesh"), .checkpoints = directory.file("saved"), .steps = 2};
    ASSERT_TRUE(run(good, open_store, comm));
    const auto afresh = run(good, open_store, comm);
    ASSERT_FALSE(afresh);
    EXPECT_NE(afresh.error().cause().find("--resume"), std::string::npos);
    std::map<std::string, RunOptions> others{{"--problem", good},
                                             {"--step-length", good},
                                             {"--tolerance", good},
                                             {"--restart", good},
                                             {"--averages", good}};
    others["--problem"].problem = ProblemKind::kAdvection;
    others["--step-length"].simulation.step_length = 0.06;
    others["--tolerance"].simulation.solver.tolerance = 1e-9;
    others["--averages"].simulation.averages = 1;
    others["--restart"].simulation.solver.restart = 31;
    for (auto& [name, options] : others) {
      options.start_mode = StartMode::kResume;
      const auto done = run(options, open_store, comm);
      ASSERT_FALSE(done) << name;
      EXPECT_EQ(done.error().kind(), ErrorClass::kInvalidArgument);
      EXPECT_NE(done.error().cause().find(name), std::string::npos) << done.error().cause();
    }
    GenerateOptions other = small_mesh(directory.file("other"));
    other.mesh.seed = 4;
    ASSERT_TRUE(generate(other, open_store, comm));
    RunOptions options = good;
    options.start_mode = StartMode::kResume;
    options.mesh = directory.file("other");
    EXPECT_FALSE(run(options, open_store, comm));
    EXPECT_FALSE(generate(small_mesh(directory.file("mesh")), open_store, comm));
  });
}

}  // namespace
}  // namespace forebay::flow
