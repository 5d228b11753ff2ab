// SPDX-License-Identifier: Apache-2.0
// A process that may open few more files.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace forebay {

/// How many files this process may open beyond those that it has; as before at the end.
class FewFiles {
 public:
  explicit FewFiles(std::size_t more) {
    raise_descriptor_limit();  // not later, by a Runtime
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(STDERR_FILENO);
    EXPECT_GE(next, 0);
    ::close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next) + more;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace forebay
