// SPDX-License-Identifier: Apache-2.0
// Wrappers of calls that execute programs, which may escape this library, and of those after which
// it must not make system calls.
#undef _FORTIFY_SOURCE
#include <cstdarg>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "interpose/posix/real.hpp"
#include "interpose/posix/recorder.hpp"

namespace forebay::interpose {

namespace {

using Words = char* const*;
using Control = int (*)(int, ...);

constexpr int kSyscallUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH of Linux 5.11

/// Restrictions that could end the program at a system call of this library, or at its clock.
/// Programs set PR_SET_NO_NEW_PRIVS before seccomp(), which they call without a function of libc.
bool is_restriction(int option) noexcept {
  return option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS || option == PR_SET_TSC ||
         option == kSyscallUserDispatch;
}

}  // namespace

// name(parameters) executes `path`, relative to `directory` (record_program()).
#define FOREBAY_EXECUTE(name, parameters, arguments, directory, path) \
  using Type_##name = int(*) parameters;                              \
  FOREBAY_REAL(Type_##name, name)                                     \
  FOREBAY_WRAPPER int name parameters noexcept {                      \
    record_program(directory, path);                                  \
    return real_##name arguments;                                     \
  }
FOREBAY_EXECUTE(
    execve, (const char* path, Words words, Words env), (path, words, env), AT_FDCWD, path)
FOREBAY_EXECUTE(execv, (const char* path, Words words), (path, words), AT_FDCWD, path)
FOREBAY_EXECUTE(execvp, (const char* name, Words words), (name, words), kSearched, name)
FOREBAY_EXECUTE(
    execvpe, (const char* name, Words words, Words env), (name, words, env), kSearched, name)
FOREBAY_EXECUTE(fexecve, (int file, Words words, Words env), (file, words, env), file, "")
FOREBAY_EXECUTE(execveat,
                (int directory, const char* path, Words words, Words env, int flags),
                (directory, path, words, env, flags),
                directory,
                path)

#define FOREBAY_SPAWN(name, directory)                                                         \
  FOREBAY_EXECUTE(name,                                                                        \
                  (pid_t * child, const char* path, const posix_spawn_file_actions_t* actions, \
                   const posix_spawnattr_t* attributes, Words words, Words env),               \
                  (child, path, actions, attributes, words, env), directory, path)
FOREBAY_SPAWN(posix_spawn, AT_FDCWD)
FOREBAY_SPAWN(posix_spawnp, kSearched)

// Their list of arguments becomes an array on the stack, as in libc.
#define FOREBAY_EXECUTE_LIST(name, directory, take_environment, execute)               \
  FOREBAY_WRAPPER int name(const char* path, const char* first, ...) noexcept {        \
    size_t count = 1;                                                                  \
    va_list list;                                                                      \
    va_start(list, first);                                                             \
    for (const char* word = first; word != nullptr; word = va_arg(list, const char*))  \
      ++count;                                                                         \
    va_end(list);                                                                      \
    auto** const words = static_cast<char**>(__builtin_alloca(count * sizeof(char*))); \
    words[0] = const_cast<char*>(first);                                               \
    va_start(list, first);                                                             \
    for (size_t i = 1; i < count; ++i)                                                 \
      words[i] = va_arg(list, char*);                                                  \
    take_environment;                                                                  \
    va_end(list);                                                                      \
    record_program(directory, path);                                                   \
    return execute;                                                                    \
  }
FOREBAY_EXECUTE_LIST(execl, AT_FDCWD, , real_execv(path, words))
FOREBAY_EXECUTE_LIST(execlp, kSearched, , real_execvp(path, words))
FOREBAY_EXECUTE_LIST(execle,
                     AT_FDCWD,
                     const auto env = va_arg(list, Words),
                     real_execve(path, words, env))

FOREBAY_REAL(Control, prctl)
FOREBAY_WRAPPER int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  const auto second = va_arg(list, unsigned long);
  const auto third = va_arg(list, unsigned long);
  const auto fourth = va_arg(list, unsigned long);
  const auto fifth = va_arg(list, unsigned long);
  va_end(list);
  if (is_restriction(option)) stop_recording();
  return real_prctl(option, second, third, fourth, fifth);
}

}  // namespace forebay::interpose
