// SPDX-License-Identifier: Apache-2.0
// ScopedDescriptorLimit: a process that can open few more files. For tests only.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace forebay {

/// Limits this process to `more` open files beyond those it has. The destructor restores the limit.
class ScopedDescriptorLimit {
 public:
  explicit ScopedDescriptorLimit(std::size_t more) {
    raise_descriptor_limit();  // otherwise a Runtime would do it later
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(STDERR_FILENO);
    EXPECT_GE(next, 0);
    ::close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next) + more;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~ScopedDescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  ScopedDescriptorLimit(const ScopedDescriptorLimit&) = delete;
  ScopedDescriptorLimit& operator=(const ScopedDescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace forebay
