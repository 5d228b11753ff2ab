// SPDX-License-Identifier: Apache-2.0
// Calls of tools from Python: without the GIL, with progress, ended by signals, and with failures
// as exceptions of forebay.errors.
#pragma once

#include <forebay/error.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/options.hpp"
#include "tools/probe/messages.hpp"
#include "tools/python/json_conversion.hpp"

namespace forebay::tools {

using python::Options;

/// Of `forebay verify`, which reports more about damage: for NativeError.
inline constexpr const char* kDatasetTool = "dataset";

/// Raises a forebay.errors.NativeError. `tool` selects the advice for damage.
[[noreturn]] void raise_error(const Error& error, const char* tool = "");

/// Makes functions of the extension raise a NativeError for each python::Failure. Call once.
void register_failures();

/// Runs `work` on a thread, without the GIL. Meanwhile the calling thread runs signal handlers and
/// passes progress to `on_progress`, unless it is None, at least every 50 ms. If one of
/// these raises, the sink of `work` returns false from then on, and the exception propagates after
/// `work` has ended, or at once if a signal handler raises again. Then `work` continues in the
/// background, so it must refer to no memory of its caller. Its own exceptions are raised as a
/// NativeError.
void run(const nb::object& on_progress,
         std::function<void(const probe::ProgressSink& progress)> work);

/// The document that `work(progress)` returns, as an object of Python. Raises its Error. `work` is
/// as for run().
template <class F>
nb::object document_of(const char* tool, const nb::object& on_progress, F work) {
  using Outcome = std::optional<decltype(work(std::declval<const probe::ProgressSink&>()))>;
  const auto outcome = std::make_shared<Outcome>();
  run(on_progress, [outcome, work = std::move(work)](const probe::ProgressSink& progress) mutable {
    outcome->emplace(work(progress));
  });
  const auto& result = *outcome;
  if (!*result) raise_error(result->error(), tool);
  return to_python(**result);
}

/// The same for a request that has a member `progress`: the document of function(request). Takes
/// the option "progress" and requires that no other is left.
template <class Request, class F>
nb::object document_of(const char* tool, Options& options, Request request, F function) {
  const nb::object on_progress = options.pop("progress");
  options.check_all_taken();
  return document_of(
      tool, on_progress,
      [request = std::move(request), function](const probe::ProgressSink& progress) mutable {
        request.progress = progress;
        return function(request);
      });
}

/// The bytes of a path: str, bytes or os.PathLike. Also for names that may not be UTF-8.
std::string path_of(const nb::object& path);

/// The texts of an iterable of str; none for None.
std::vector<std::string> names_of(const nb::object& names);

// The parts of the extension _forebay_tools.
void bind_datasets(nb::module_& module);
void bind_models(nb::module_& module);
void bind_traces(nb::module_& module);

}  // namespace forebay::tools
