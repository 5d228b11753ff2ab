// SPDX-License-Identifier: Apache-2.0
// refuse NAME-OR-NUMBER=ERRNO... -- PROGRAM ARGUMENTS...: runs a program in which the named system
// calls fail, as on an older kernel or in a strict container. ERRNO is EPERM, ENOSYS or ENOMEM.
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kUsageError = 2;
constexpr int kSetupFailed = 3;

/// A system call and its error.
struct Refusal {
  int call = -1;
  int error_number = 0;
};

constexpr std::array<std::pair<std::string_view, int>, 3> kErrors{
    {{"ENOSYS", ENOSYS}, {"EPERM", EPERM}, {"ENOMEM", ENOMEM}}};

bool parse(std::string_view text, Refusal& refusal) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string name(text.substr(0, equals));
  const std::string_view error = text.substr(equals + 1);
  refusal.call = ::seccomp_syscall_resolve_name(name.c_str());
  if (refusal.call < 0) {  // a call unknown to the library, given by number
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), refusal.call);
    if (parsed.ec != std::errc{}) return false;
  }
  for (const auto& [name_of_error, number] : kErrors)
    if (error == name_of_error) refusal.error_number = number;
  return refusal.error_number != 0;
}

bool install(std::span<const Refusal> refusals) {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  bool installed = true;
  for (const Refusal& refusal : refusals) {
    const auto action = SCMP_ACT_ERRNO(static_cast<unsigned>(refusal.error_number));
    installed = installed && ::seccomp_rule_add(filter, action, refusal.call, 0) == 0;
  }
  installed = installed && ::seccomp_load(filter) == 0;
  ::seccomp_release(filter);
  return installed;
}

/// True if the call fails as intended. Otherwise the program would run under a filter without
/// effect.
bool acts(const Refusal& refusal) {
  errno = 0;
  return ::syscall(refusal.call, -1, 0, 0, 0) == -1 && errno == refusal.error_number;
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::vector<Refusal> refusals;
  int next = 1;
  for (; next < argument_count && std::strcmp(arguments[next], "--") != 0; ++next) {
    Refusal refusal{};
    if (!parse(arguments[next], refusal)) {
      std::fprintf(stderr, "refuse: %s is not NAME=EPERM, NAME=ENOSYS or NAME=ENOMEM\n",
                   arguments[next]);
      return kUsageError;
    }
    refusals.push_back(refusal);
  }
  if (refusals.empty() || next + 1 >= argument_count) {
    std::fprintf(stderr, "usage: refuse NAME=ERRNO... -- PROGRAM ARGUMENTS...\n");
    return kUsageError;
  }
  if (!install(refusals)) {
    std::fprintf(stderr, "refuse: the filter could not be installed\n");
    return kSetupFailed;
  }
  for (const Refusal& refusal : refusals) {
    if (!acts(refusal)) {
      std::fprintf(stderr, "refuse: system call %d is not refused\n", refusal.call);
      return kSetupFailed;
    }
  }
  char** const program = arguments + next + 1;
  ::execv(program[0], program);
  std::fprintf(stderr, "refuse: %s: %s\n", program[0], std::strerror(errno));
  return kSetupFailed;
}
