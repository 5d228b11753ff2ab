// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/simulation_document.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "push/difference_table.hpp"
#include "push/markov_predictor.hpp"
#include "push/neural_predictor.hpp"
#include "push/run_predictor.hpp"
#include "push/successor_table.hpp"
#include "trace/access_patterns.hpp"
#include "trace/signature_cursor.hpp"
#include "trace/signature_search.hpp"

namespace forebay::trace_tool {

namespace {

using command::Json;
using push::CacheCounts;
using push::CacheOptions;
using push::Prediction;
using push::Predictor;
using trace::Access;

/// Trains after each access, in the thread of the caller.
class TrainedPredictor final : public Predictor {
 public:
  std::string_view name() const noexcept override { return neural_.name(); }
  void observe(const Access& access) override {
    neural_.observe(access);
    neural_.train(kTrainingSteps);
  }
  std::size_t predict(std::span<Prediction> into) const override { return neural_.predict(into); }
  std::size_t state_bytes() const noexcept override { return neural_.state_bytes(); }

 private:
  static constexpr std::size_t kTrainingSteps = 4;
  push::NeuralPredictor neural_;
};

using MakePredictor = std::function<std::unique_ptr<Predictor>()>;

template <class AnyPredictor>
std::unique_ptr<Predictor> make() {
  return std::make_unique<AnyPredictor>();
}

std::vector<MakePredictor> online_predictors() {
  return {make<push::RunPredictor>, make<push::DifferenceTable>, make<push::MarkovPredictor>,
          make<push::SuccessorTable>, make<TrainedPredictor>};
}

double ns_of_pass(Predictor& predictor, std::span<const Access> stream, std::size_t lookahead) {
  std::vector<Prediction> next(lookahead);
  const auto begin = std::chrono::steady_clock::now();
  for (const Access& access : stream) {
    predictor.predict(next);
    predictor.observe(access);
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return time.count() / static_cast<double>(stream.size());
}

double ns_per_access(const MakePredictor& make_one,
                     std::span<const Access> stream,
                     std::size_t lookahead) {
  constexpr std::size_t kAccessesMin = 20'000;
  double fastest = ns_of_pass(*make_one(), stream, lookahead);
  for (std::size_t done = stream.size(); done < kAccessesMin; done += stream.size())
    fastest = std::min(fastest, ns_of_pass(*make_one(), stream, lookahead));
  return fastest;
}

Json document_of(const CacheCounts& counts) {
  return {{"faults", counts.faults},
          {"misses", counts.misses},
          {"pages_read", counts.pages_read},
          {"pages_pushed", counts.pages_pushed},
          {"pages_wasted", counts.pages_wasted}};
}

Json document_of(const MakePredictor& make_one,
                 std::span<const Access> stream,
                 const CacheOptions& options) {
  const auto predictor = make_one();
  Json document = document_of(push::simulate_cache(stream, options, predictor.get()));
  document["name"] = predictor->name();
  document["ns_per_access"] = ns_per_access(make_one, stream, options.lookahead);
  return document;
}

using OnRun = std::function<Status()>;

Result<Json> document_of(const ReadStream& stream,
                         const CacheOptions& options,
                         const OnRun& on_run) {
  Json predictors = Json::array();
  for (const MakePredictor& make_one : online_predictors()) {
    predictors.push_back(document_of(make_one, stream.reads, options));
    if (const Status reported = on_run(); !reported) return failure(reported.error());
  }
  Json document{{"name", stream.name},
                {"reads", stream.reads.size()},
                {"base", document_of(push::simulate_cache(stream.reads, options))}};
  if (const Status reported = on_run(); !reported) return failure(reported.error());
  auto found = trace::signature_of(stream.reads, trace::Operation::kRead);
  if (found) {
    const auto known = std::make_shared<const trace::Signature>(std::move(*found));
    const auto make_stored = [&] { return std::make_unique<push::SignaturePredictor>(known); };
    predictors.push_back(document_of(make_stored, stream.reads, options));
  } else {
    document["error"] = found.error().message();
  }
  document["predictors"] = std::move(predictors);
  return document;
}

std::string name_of(const LoadedTrace& loaded, std::pair<std::uint16_t, std::uint32_t> key) {
  const auto file = loaded.files.find(key.first);
  const auto source = loaded.sources.find(key.second);
  const std::string path = file == loaded.files.end() ? "(no name)" : file->second.path;
  return source == loaded.sources.end() ? path
                                        : path + " thread " + std::to_string(source->second.thread);
}

ReadStream stream_of(std::string_view name, trace::Signature signature) {
  ReadStream stream{.name = std::string(name)};
  trace::SignatureCursor cursor(std::make_shared<trace::Signature>(std::move(signature)));
  for (; !cursor.is_done(); cursor.advance())
    stream.reads.push_back(cursor.current());
  return stream;
}

}  // namespace

std::vector<ReadStream> read_streams(const LoadedTrace& loaded) {
  std::vector<ReadStream> streams;
  for (const auto& [key, stream] : loaded.streams) {
    ReadStream reads{.name = name_of(loaded, key), .reads = stream.reads.all};
    std::erase_if(reads.reads, [](const Access& access) {
      return !push::is_predictable(access.offset, access.size);
    });
    if (!reads.reads.empty()) streams.push_back(std::move(reads));
  }
  return streams;
}

Result<std::vector<ReadStream>> pattern_streams(const std::string& name) {
  std::vector<ReadStream> streams;
  const auto names =
      name.empty() ? trace::access_pattern_names() : std::vector<std::string_view>{name};
  for (const std::string_view one : names) {
    auto signature = trace::access_pattern(one);
    if (!signature) return failure(signature.error());
    if (signature->operation == trace::Operation::kRead)
      streams.push_back(stream_of(one, std::move(*signature)));
  }
  if (streams.empty())
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "simulate reads",
                    .cause = "pattern '" + name + "' writes; give one that reads"});
  return streams;
}

Result<Json> simulation_document(std::span<const ReadStream> streams,
                                 const CacheOptions& options,
                                 const command::ProgressSink& progress) {
  Json documents = Json::array();
  // With the run without a predictor, and the search for the signature with its run.
  const std::size_t total = streams.size() * (online_predictors().size() + 2);
  std::size_t done = 0;
  for (const ReadStream& stream : streams) {
    auto document = document_of(stream, options, [&] {
      return report(progress, {++done, total, "runs", "simulating predictors"}, "simulate reads");
    });
    if (!document) return document;
    documents.push_back(std::move(*document));
    ++done;
  }
  return Json{{"cache_bytes", options.cache_bytes},
              {"page_bytes", options.page_bytes},
              {"lookahead", options.lookahead},
              {"streams", std::move(documents)}};
}

}  // namespace forebay::trace_tool
