// SPDX-License-Identifier: Apache-2.0
#include "write/processes.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/host_name.hpp"
#include "base/process_namespace.hpp"
#include "base/retry_on_eintr.hpp"
#include "base/wall_clock.hpp"
#include "shm/process_watch.hpp"
#include "write/lease.hpp"

namespace forebay::write {

namespace {

/// /proc/PID/stat has the state after the name of the program, which may contain spaces and
/// brackets. Counted from the state, the start time is the 20th word.
constexpr int kFieldsToStartTime = 19;

std::string user_name() {
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, memory.data(), memory.size(), &found) == 0 &&
      found != nullptr)
    return found->pw_name;
  return "user " + std::to_string(::geteuid());
}

struct ProcessFacts {
  bool has_ended = false;  ///< of its main thread; others may run
  std::uint64_t start = 0;
};

/// False where /proc was mounted in another PID namespace: numbers in it name other processes.
bool is_proc_of_this_namespace() {
  std::array<char, 32> number{};
  const ssize_t size = ::readlink("/proc/self", number.data(), number.size() - 1);
  return size > 0 && number.data() == std::to_string(::getpid());
}

/// No value if there is no such process, or if /proc does not show it.
std::optional<ProcessFacts> facts_of_process(std::uint64_t process_id) {
  if (!is_proc_of_this_namespace()) return std::nullopt;
  std::ifstream in("/proc/" + std::to_string(process_id) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(name_end + 1));
  std::string word;
  words >> word;
  ProcessFacts facts{.has_ended = word == "Z" || word == "X"};
  for (int i = 0; i < kFieldsToStartTime; ++i)
    words >> word;
  facts.start = std::strtoull(word.c_str(), nullptr, 10);
  return facts;
}

/// The pidfd of a process is readable once its last thread has ended.
bool is_readable(const Descriptor& pidfd) {
  pollfd entry{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return retry_on_eintr([&] { return ::poll(&entry, 1, 0); }) == 1;
}

/// Also detects the end of processes that /proc hides from this user.
bool has_ended(pid_t number, const std::optional<ProcessFacts>& facts) {
  const auto pidfd = shm::watch_process(number);
  if (pidfd) return is_readable(*pidfd);
  if (pidfd.error().kind() == ErrorClass::kNotFound) return true;
  // The kernel has no pidfd, or a filter refuses it. Without one, a process counts as ended when
  // its main thread has ended, because /proc does not show the difference.
  return (facts && facts->has_ended) || (::kill(number, 0) != 0 && errno == ESRCH);
}

}  // namespace

ProcessState process_state(std::uint64_t process_id, std::uint64_t start) {
  const auto number = static_cast<pid_t>(process_id);
  if (number <= 0 || static_cast<std::uint64_t>(number) != process_id) return ProcessState::kEnded;
  const auto facts = facts_of_process(process_id);
  // After the facts: a number that is reused between the two has another start time.
  if (has_ended(number, facts)) return ProcessState::kEnded;
  if (!facts || start == 0) return ProcessState::kUnknown;
  return facts->start == start ? ProcessState::kRunning : ProcessState::kEnded;
}

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(in, line);
  return line;
}

std::string format_utc_time(std::uint64_t since_1970_ns) {
  const auto seconds = static_cast<std::time_t>(since_1970_ns / 1'000'000'000U);
  std::tm parts{};
  std::array<char, 64> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "a time out of range";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

format::LeaseHolder current_process() {
  const auto process = static_cast<std::uint64_t>(::getpid());
  const auto facts = facts_of_process(process);
  format::LeaseHolder holder{.host = host_name(),
                             .boot_id = boot_id(),
                             .process_id = process,
                             .process_start = facts ? facts->start : 0,
                             .process_namespace = process_namespace(),
                             .user = user_name(),
                             .program = ::program_invocation_short_name,
                             .opened_ns = wall_clock_ns()};
  while (::getrandom(&holder.nonce, sizeof holder.nonce, 0) != sizeof holder.nonce) {
  }
  return holder;
}

}  // namespace forebay::write
