// SPDX-License-Identifier: Apache-2.0
#include "writer_process.hpp"

#include <array>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::faults {

namespace {

constexpr auto kTimeout = std::chrono::seconds(60);

[[noreturn]] void exec_writer(const std::vector<std::string>& words, int out, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

WriterProcess::WriterProcess(const WriterTask& task) {
  std::vector<std::string> words{FOREBAY_DATASET_WRITER, task.path,
                                 std::to_string(task.contents_seed),
                                 std::to_string(task.config_seed), std::to_string(task.steps)};
  if (!task.marks.empty()) words.push_back(task.marks);
  std::array<int, 2> out{};
  std::array<int, 2> errors{};
  EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(errors.data(), O_CLOEXEC), 0);
  process_ = ::fork();
  if (process_ == 0) exec_writer(words, out[1], errors[1]);
  EXPECT_GT(process_, 0);
  ::close(out[1]);
  ::close(errors[1]);
  output_ = Descriptor(out[0]);
  errors_ = Descriptor(errors[0]);
}

WriterProcess::~WriterProcess() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  reap();
}

void WriterProcess::reap() {
  EXPECT_EQ(::waitpid(process_, &status_, 0), process_);
  process_ = -1;
}

/// False at the end of the output.
bool WriterProcess::read_output() {
  std::array<char, 512> some{};
  const ssize_t got = ::read(output_.get(), some.data(), some.size());
  is_output_closed_ = got <= 0;
  for (ssize_t i = 0; i < got; ++i) {
    const char letter = some.at(static_cast<std::size_t>(i));
    if (letter != '\n') {
      partial_ += letter;
      continue;
    }
    acknowledged_.push_back(std::strtoull(partial_.c_str(), nullptr, 10));
    partial_.clear();
  }
  return !is_output_closed_;
}

void WriterProcess::wait_for(std::size_t acknowledged, std::chrono::microseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (acknowledged_.size() < acknowledged && !is_output_closed_) {
    const auto left =
        std::chrono::ceil<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    const timespec wait{.tv_sec = left.count() / 1'000'000'000,
                        .tv_nsec = left.count() % 1'000'000'000};
    pollfd entry{output_.get(), POLLIN, 0};
    if (::ppoll(&entry, 1, &wait, nullptr) > 0) read_output();
  }
}

void WriterProcess::kill() {
  ::kill(process_, SIGKILL);
  reap();
  while (read_output()) {
  }
}

std::string WriterProcess::error_at_exit() {
  wait_for(SIZE_MAX, kTimeout);
  if (!is_output_closed_) {
    ::kill(process_, SIGKILL);
    reap();
    return "it did not end within a minute";
  }
  reap();
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return {};
  std::array<char, 4096> text{};
  const ssize_t got = ::read(errors_.get(), text.data(), text.size());
  return "status " + std::to_string(status_) + ": " +
         std::string(text.data(), static_cast<std::size_t>(got > 0 ? got : 0));
}

}  // namespace forebay::faults
