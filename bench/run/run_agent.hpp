// SPDX-License-Identifier: Apache-2.0
// RunAgent: the agent of `forebay run` for programs that a benchmark starts.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>

#include "base/descriptor.hpp"
#include "bench/frame/child_process.hpp"

namespace forebay::bench::run {

class RunAgent {
 public:
  /// Starts an agent with these profiles, and connects to it.
  static Result<std::unique_ptr<RunAgent>> start(const std::filesystem::path& profiles);
  /// Waits until the agent has written its profiles and has ended.
  ~RunAgent();
  RunAgent(const RunAgent&) = delete;
  RunAgent& operator=(const RunAgent&) = delete;

  /// For programs that run under the agent.
  EnvironmentVariables environment() const;

 private:
  RunAgent() = default;
  Status connect(const std::string& name);

  pid_t process_ = -1;
  Descriptor connection_;
  std::string memory_path_;
};

}  // namespace forebay::bench::run
