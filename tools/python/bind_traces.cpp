// SPDX-License-Identifier: Apache-2.0
// Functions for `forebay trace`.
#include <nanobind/stl/string.h>

#include "command/cli.hpp"
#include "tools/python/call.hpp"
#include "tools/trace/record_files.hpp"
#include "tools/trace/simulation_document.hpp"
#include "tools/trace/streams_document.hpp"

namespace forebay::tools {

namespace {

using command::Json;
using probe::ProgressSink;
using trace::TraceReader;
using trace_tool::ReadStream;

void take_recover(Options& taken, trace_tool::TraceInput& input) {
  bool is_recovered = false;
  taken.take("recover", is_recovered);
  if (is_recovered) input.on_damage = TraceReader::OnDamage::kRecover;
}

nb::object show_trace(const nb::object& path, const nb::kwargs& given) {
  trace_tool::TraceInput input{.path = path_of(path)};
  std::uint64_t points_max = 0;
  Options taken("show_trace", given);
  taken.take("points", points_max);
  take_recover(taken, input);
  return document_of("", taken, std::move(input), [=](const trace_tool::TraceInput& trace) {
    return trace_tool::load_trace(trace).and_then([&](const auto& loaded) {
      return trace_tool::streams_document(loaded, points_max, trace.progress);
    });
  });
}

struct Simulation {
  std::string trace;
  std::string pattern;
  push::CacheOptions options;
  bool has_accesses = false;
  ProgressSink progress;
};

Status check(const Simulation& request) {
  const push::CacheOptions& options = request.options;
  if (!request.trace.empty() && !request.pattern.empty())
    return failure(command::usage_error("give a trace or a pattern, not both"));
  if (options.page_bytes == 0 || options.cache_bytes / options.page_bytes < 1 ||
      options.cache_bytes / options.page_bytes > push::CacheOptions::kPagesMax)
    return failure(command::usage_error("--cache must be 1 to " +
                                        std::to_string(push::CacheOptions::kPagesMax) + " pages"));
  if (options.lookahead < 1 || options.lookahead > push::CacheOptions::kLookaheadMax)
    return failure(command::usage_error("--lookahead must be 1 to 1024"));
  return {};
}

Result<std::vector<ReadStream>> streams_of(const Simulation& request) {
  if (request.trace.empty()) return trace_tool::pattern_streams(request.pattern);
  return trace_tool::load_trace({.path = request.trace, .progress = request.progress})
      .map(trace_tool::read_streams);
}

Json accesses_of(const ReadStream& stream) {
  Json accesses = Json::array();
  for (const trace::Access& access : stream.reads)
    accesses.push_back({access.offset, access.size});
  return accesses;
}

Result<Json> simulate(const Simulation& request) {
  if (const Status checked = check(request); !checked) return failure(checked.error());
  const auto streams = streams_of(request);
  if (!streams) return failure(streams.error());
  auto document = trace_tool::simulation_document(*streams, request.options, request.progress);
  for (std::size_t i = 0; document && request.has_accesses && i < streams->size(); ++i)
    (*document)["streams"][i]["accesses"] = accesses_of((*streams)[i]);
  return document;
}

nb::object simulate_trace(const nb::kwargs& given) {
  Simulation request;
  Options taken("simulate_trace", given);
  if (const nb::object trace = taken.pop("trace"); !trace.is_none()) request.trace = path_of(trace);
  taken.take("pattern", request.pattern);
  taken.take("cache_bytes", request.options.cache_bytes);
  taken.take("page_bytes", request.options.page_bytes);
  taken.take("lookahead", request.options.lookahead);
  taken.take("accesses", request.has_accesses);
  return document_of("", taken, request, simulate);
}

Result<Json> counts_json(const Result<trace_tool::RecordCounts>& counts) {
  return counts.map([](const trace_tool::RecordCounts& found) {
    return Json{{"records", found.records},
                {"sources", found.sources},
                {"files", found.files},
                {"warnings", found.warnings}};
  });
}

nb::object export_records(const nb::object& trace,
                          const nb::object& records,
                          const nb::kwargs& given) {
  trace_tool::TraceInput input{.path = path_of(trace)};
  Options taken("export_trace_records", given);
  take_recover(taken, input);
  return document_of("", taken, std::move(input),
                     [to = path_of(records)](const trace_tool::TraceInput& from) {
                       return counts_json(trace_tool::export_records(from, to));
                     });
}

nb::object import_records(const nb::object& records,
                          const nb::object& names,
                          const nb::object& trace,
                          const nb::object& on_progress) {
  return document_of("", on_progress,
                     [from = path_of(records), files = names_of(names),
                      to = path_of(trace)](const ProgressSink& progress) {
                       return counts_json(trace_tool::import_records(from, files, to, progress));
                     });
}

}  // namespace

void bind_traces(nb::module_& module) {
  module.def("show_trace", &show_trace, nb::arg("path"), nb::arg("options"),
             "The streams of a trace. Options: points (most accesses of each, 0), recover, "
             "progress.");
  module.def("simulate_trace", &simulate_trace, nb::arg("options"),
             "Predictors on a trace or a known pattern. Options: trace, pattern, cache_bytes, "
             "page_bytes, lookahead, accesses, progress.");
  module.def("export_trace_records", &export_records, nb::arg("trace"), nb::arg("records"),
             nb::arg("options"),
             "Writes the records of a trace to a file. Options: recover, progress.");
  module.def("import_trace_records", &import_records, nb::arg("records"), nb::arg("names"),
             nb::arg("trace"), nb::arg("progress") = nb::none(),
             "Writes a trace from a file of records.");
}

}  // namespace forebay::tools
