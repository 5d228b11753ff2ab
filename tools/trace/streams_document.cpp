// SPDX-License-Identifier: Apache-2.0
// Streams as JSON.
#include "tools/trace/streams_document.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "trace/access_class.hpp"
#include "trace/signature.hpp"
#include "trace/signature_search.hpp"

namespace forebay::trace_tool {

namespace {

using command::Json;
using trace::Access;
using trace::Operation;

Json points_of(const std::vector<Access>& accesses, std::uint64_t points_max) {
  Json points = Json::array();
  const std::uint64_t step = points_max == 0 ? 0 : (accesses.size() + points_max - 1) / points_max;
  for (std::size_t i = 0; step > 0 && i < accesses.size(); i += step)
    points.push_back({accesses[i].begin_ns, accesses[i].offset, accesses[i].size});
  return points;
}

void add_signature(Json& document, const std::vector<Access>& accesses, Operation operation) {
  const auto signature = trace::signature_of(accesses, operation);
  const trace::Signature found = signature.value_or(trace::Signature{.operation = operation});
  document["class"] = trace::to_text(trace::classify(accesses, found));
  if (!signature) {
    document["signature"] = nullptr;
    document["error"] = signature.error().message();
    return;
  }
  document["signature"] = trace::to_text(found);
  document["items"] = found.items.size();
  document["explained_share"] = trace::explained_share(found);
}

Json document_of(const Accesses& accesses, Operation operation, std::uint64_t points_max) {
  if (accesses.all.empty()) return nullptr;
  const auto [first, last] = std::ranges::minmax(accesses.all, {}, &Access::begin_ns);
  Json document{{"count", accesses.all.size()},
                {"bytes", accesses.bytes},
                {"first_ns", first.begin_ns},
                {"last_ns", last.begin_ns}};
  add_signature(document, accesses.all, operation);
  document["points"] = points_of(accesses.all, points_max);
  return document;
}

Json document_of(const std::optional<trace::FileView>& view) {
  if (!view) return nullptr;
  return {{"displacement", view->displacement},
          {"etype_bytes", view->etype_bytes},
          {"filetype_bytes", view->filetype_bytes},
          {"filetype_extent", view->filetype_extent}};
}

template <class Map>
auto find_or_default(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

}  // namespace

Result<Json> streams_document(const LoadedTrace& loaded,
                              std::uint64_t points_max,
                              const command::ProgressSink& progress) {
  Json streams = Json::array();
  for (const auto& [key, stream] : loaded.streams) {
    const auto reported =
        report(progress, {streams.size(), loaded.streams.size(), "streams", "finding patterns"},
               "find patterns");
    if (!reported) return failure(reported.error());
    const trace::FileInfo file = find_or_default(loaded.files, key.first);
    const trace::SourceInfo source = find_or_default(loaded.sources, key.second);
    streams.push_back({{"file", file.path},
                       {"interface", file.interface ? Json(*file.interface) : Json(nullptr)},
                       {"view", document_of(file.view)},
                       {"host", source.host},
                       {"program", source.program},
                       {"process", source.process},
                       {"rank", source.rank ? Json(*source.rank) : Json(nullptr)},
                       {"thread", source.thread},
                       {"other_records", stream.other_records},
                       {"reads", document_of(stream.reads, Operation::kRead, points_max)},
                       {"writes", document_of(stream.writes, Operation::kWrite, points_max)}});
  }
  Json warnings = Json::array();
  for (const Error& warning : loaded.warnings)
    warnings.push_back(warning.message());
  return Json{{"start_ns", loaded.start_ns},         {"records", loaded.records},
              {"lost_records", loaded.lost_records}, {"skipped_bytes", loaded.skipped_bytes},
              {"warnings", std::move(warnings)},     {"streams", std::move(streams)}};
}

}  // namespace forebay::trace_tool
