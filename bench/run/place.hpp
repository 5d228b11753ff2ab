// SPDX-License-Identifier: Apache-2.0
// Place: emulated storage with the files of the programs, on which they run and are timed.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "bench/emufs/emufs_mount.hpp"
#include "bench/frame/benchmark.hpp"
#include "bench/frame/child_process.hpp"
#include "bench/run/programs.hpp"

namespace forebay::bench::run {

class Place {
 public:
  /// Mounts `machine`, and copies the files there; they are made once in a run of the benchmark.
  static Result<std::unique_ptr<Place>> make(Context& context, const std::string& machine);

  Status drop_caches() { return mounted_->drop_caches(); }
  /// Why the program cannot run; empty if it can.
  std::string unavailable_reason(const Program& program) const;
  /// Runs a program; returns its seconds. Its output, exit status and copied file must be those of
  /// the runs before.
  Result<double> time(const Program& program, const EnvironmentVariables& settings);
  /// Under an agent that has the profiles of this directory.
  Result<double> time_with_agent(const Program& program, const std::filesystem::path& profiles);
  /// A new name for a directory of profiles.
  std::filesystem::path new_profiles();
  /// Number of programs that have run.
  std::size_t compared_programs() const noexcept { return outputs_.size(); }

 private:
  Place(Context& context, std::unique_ptr<emufs::EmufsMount> mounted)
      : context_(context), mounted_(std::move(mounted)) {}
  Status publish(const std::filesystem::path& files);
  EnvironmentVariables variables() const;
  Status compare(const Program& program);

  Context& context_;
  std::unique_ptr<emufs::EmufsMount> mounted_;
  std::map<std::string, std::string> outputs_;  ///< of the first run, by name
  int profiles_ = 0;
};

}  // namespace forebay::bench::run
