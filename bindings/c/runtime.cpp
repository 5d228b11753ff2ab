// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/session.h> on runtimes and files.
#include <string>
#include <utility>

#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"
#include "runtime/runtime_access.hpp"

namespace forebay::bindings {

namespace {

constexpr const char* kCreateRuntime = "create a runtime";

/// Passes lines to the function of a C program.
class FunctionLog final : public LogSink {
 public:
  FunctionLog(forebay_log_function function, void* context) noexcept
      : function_(function), context_(context) {}
  void write(LogLevel level, std::string_view line) noexcept override {
    try {
      function_(context_, level == LogLevel::kInfo ? 0 : 1, std::string(line).c_str());
    } catch (const std::bad_alloc&) {
      function_(context_, 1, "a line of the log is lost: memory is exhausted");
    }
  }

 private:
  forebay_log_function function_;
  void* context_;
};

template <class T>
void set_if_given(T& option, T given) {
  if (given != 0) option = given;
}

void set_if_given(std::string& option, const char* given) {
  if (given != nullptr) option = given;
}

RuntimeOptions options_of(const forebay_runtime_options& given) {
  RuntimeOptions options = options_from_environment().value();
  set_if_given(options.budget_bytes, given.budget_bytes);
  set_if_given(options.tuning.buffer_cache_bytes, given.buffer_cache_bytes);
  set_if_given(options.tuning.copy_threads, given.copy_threads);
  options.placement = choose({kCreateRuntime, "placement", given.placement},
                             {options.placement, Placement::kInRank, Placement::kDedicated});
  set_if_given(options.machine, given.machine);
  set_if_given(options.hints_path, given.hints_path);
  set_if_given(options.learned_hints_path, given.learned_hints_path);
  set_if_given(options.trace_path, given.trace_path);
  set_if_given(options.network, given.network);
  return options;
}

}  // namespace

SharedRuntime create_runtime(const Ranks& ranks, const forebay_runtime_options* options) {
  forebay_runtime_options given{};
  auto read = result_of([&] {
    given = read_struct(kCreateRuntime, options);
    return options_of(given);
  });
  check(RuntimeAccess::agree(ranks, read ? Status() : failure(read.error())));
  RuntimeOptions chosen = std::move(*read);
  std::unique_ptr<LogSink> log;
  if (given.log != nullptr) log = std::make_unique<FunctionLog>(given.log, given.log_context);
  chosen.log = log.get();
  return std::make_shared<RuntimeOwner>(std::move(log), ranks, std::move(chosen));
}

}  // namespace forebay::bindings

using namespace forebay::bindings;

int forebay_runtime_create(const forebay_runtime_options* options,
                           forebay_runtime** runtime,
                           forebay_error* error) {
  return make({kCreateRuntime, error}, {}, runtime,
              [&] { return new forebay_runtime{create_runtime(forebay::Ranks(), options)}; });
}

void forebay_runtime_destroy(forebay_runtime* runtime) { delete runtime; }

int forebay_runtime_rank(const forebay_runtime* runtime,
                         uint32_t* rank,
                         uint32_t* rank_count,
                         bool* is_io_rank,
                         forebay_error* error) {
  return run({"return the rank", error}, {{"runtime", runtime}}, [&] {
    const forebay::Runtime& of = runtime->runtime->runtime;
    if (rank != nullptr) *rank = of.rank();
    if (rank_count != nullptr) *rank_count = of.rank_count();
    if (is_io_rank != nullptr) *is_io_rank = of.role() == forebay::Role::kIo;
  });
}

int forebay_runtime_serve(forebay_runtime* runtime, forebay_error* error) {
  return run({"serve", error}, {{"runtime", runtime}},
             [&] { check(runtime->runtime->runtime.serve()); });
}

int forebay_file_open(forebay_runtime* runtime,
                      const char* path,
                      forebay_file** file,
                      forebay_error* error) {
  return make({"open", error}, {{"runtime", runtime}, {"path", path}}, file, [&] {
    return new forebay_file{runtime->runtime, runtime->runtime->runtime.open_file(path).value()};
  });
}

int forebay_file_size(const forebay_file* file, uint64_t* size, forebay_error* error) {
  return run({"return the size", error}, {{"file", file}, {"size", size}},
             [&] { *size = file->file.size(); });
}

void forebay_file_close(forebay_file* file) { delete file; }
