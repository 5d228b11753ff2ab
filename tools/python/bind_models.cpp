// SPDX-License-Identifier: Apache-2.0
// Functions for `forebay machine|model|study|tune|plan|explain`, and for `forebay doctor`.
#include <cmath>
#include <memory>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/config.hpp"
#include "model/candidate_tuner.hpp"
#include "model/machine.hpp"
#include "tools/doctor/examine.hpp"
#include "tools/doctor/measure.hpp"
#include "tools/machine/document.hpp"
#include "tools/model/gain_document.hpp"
#include "tools/model/profile_document.hpp"
#include "tools/model/reads.hpp"
#include "tools/model/steps.hpp"
#include "tools/python/call.hpp"
#include "tools/study/document.hpp"
#include "tools/study/steps.hpp"

namespace forebay::tools {

namespace {

using nlohmann::json;
using probe::ProgressSink;

std::vector<std::filesystem::path> directories() {
  return model::machine_directories(process_environment());
}

nb::object list_machines() { return to_python(machine_tool::list_machines(directories())); }

nb::object show_machine(const nb::object& name) {
  const auto shown = machine_tool::show_machine(path_of(name), directories());
  if (!shown) raise_error(shown.error());
  return to_python(*shown);
}

nb::object compute_gain(const nb::kwargs& given) {
  model_tool::GainQuery query;
  std::optional<std::uint64_t> buffers;
  bool has_curves = false;
  Options taken("compute_gain", given);
  taken.take("compute_s", query.pipeline.compute_s);
  taken.take("write_s", query.pipeline.write_s);
  taken.take("count", query.pipeline.count);
  taken.take("buffers", buffers);
  taken.take("devices", query.pipeline.devices);
  taken.take("jitter", query.jitter.write);
  taken.take("compute_jitter", query.jitter.compute);
  taken.take("seed", query.jitter.seed);
  taken.take("curves", has_curves);
  const nb::object on_progress = taken.pop("progress");
  taken.check_all_taken();
  query.pipeline.buffers = buffers.value_or(model::kUnlimitedBuffers);
  if (has_curves) query.curves = model_tool::Curves::kInclude;
  return document_of("", on_progress, [query](const ProgressSink& progress) {
    return model_tool::describe_gain(query, progress);
  });
}

nb::object model_steps(nb::handle request, const nb::object& on_progress) {
  return document_of("", on_progress, [request = to_json(request)](const ProgressSink& progress) {
    return model_tool::describe_steps({request, progress}, directories());
  });
}

nb::object model_reads(nb::handle request) {
  return document_of("", nb::none(), [request = to_json(request)](const ProgressSink&) {
    return model_tool::describe_reads(request, directories());
  });
}

nb::object show_profile(const nb::object& path) {
  return document_of("", nb::none(), [profile = path_of(path)](const ProgressSink&) {
    return model_tool::show_profile(profile);
  });
}

nb::object merge_profile(const nb::object& path, const std::string& added) {
  return document_of("", nb::none(), [profile = path_of(path), added](const ProgressSink&) {
    return model_tool::merge_profile(profile, added);
  });
}

nb::object study_checkpoint(const nb::kwargs& given) {
  study::StudyRequest request;
  Options taken("study_checkpoint", given);
  request.machines = names_of(taken.pop("machines"));
  const std::vector<std::string> strategies = names_of(taken.pop("strategies"));
  taken.take("bytes_per_rank", request.checkpoint.bytes_per_rank);
  taken.take("ranks", request.checkpoint.ranks);
  taken.take("nodes", request.checkpoint.nodes);
  taken.take_name("sizes", request.checkpoint.sizes,
                  {study::SizeDistribution::kEqual, study::SizeDistribution::kExponential});
  if (!strategies.empty()) request.checkpoint.strategies.clear();
  for (const std::string& name : strategies)
    request.checkpoint.strategies.push_back(python::value_of(parse_strategy(name)));
  return document_of("", taken, request, [](const study::StudyRequest& one) {
    return study::describe(one, directories());
  });
}

nb::object study_steps(nb::handle kernel, const nb::object& machine, const nb::kwargs& given) {
  study::StepsRequest request{.kernel = to_json(kernel), .machine = path_of(machine)};
  bool is_ahead = false;
  Options taken("study_steps", given);
  taken.take("targets", request.targets);
  taken.take("create_ahead", is_ahead);
  if (is_ahead) request.create_mode = study::CreateMode::kAhead;
  return document_of("", taken, request, [](const study::StepsRequest& one) {
    return study::describe_steps(one, directories());
  });
}

Result<json> examine(const std::string& directory, bool is_measured, const ProgressSink& progress) {
  const doctor::DoctorSettings settings = doctor::read_settings(process_environment());
  auto document = doctor::examine(directory, settings);
  if (!document) return document;
  (*document)["version"] = FOREBAY_VERSION;
  (*document)["storage"] = nullptr;
  if (!is_measured) return document;
  const doctor::MeasureLimits limits{.backend = settings.options.tuning.backend};
  const auto measured = doctor::measure_storage(directory, limits, progress);
  if (!measured) return failure(measured.error());
  (*document)["storage"] = to_json(*measured);
  return document;
}

nb::object examine_machine(const nb::object& directory,
                           bool is_measured,
                           const nb::object& on_progress) {
  return document_of("", on_progress,
                     [path = path_of(directory), is_measured](const ProgressSink& progress) {
                       return examine(path, is_measured, progress);
                     });
}

/// The object of the Python class Tuner.
class Tuner {
 public:
  Tuner(std::vector<std::vector<double>> features,
        const std::optional<std::vector<double>>& predicted_s,
        std::uint64_t seed) {
    check(features, predicted_s);
    std::vector<model::TunerCandidate> candidates;
    for (std::size_t i = 0; i < features.size(); ++i)
      candidates.push_back({std::move(features[i]), predicted_s ? (*predicted_s)[i] : 1});
    count_ = candidates.size();
    const nb::gil_scoped_release released;
    tuner_ = std::make_unique<model::CandidateTuner>(candidates, model::TunerOptions{.seed = seed});
  }
  std::size_t next() const {
    const nb::gil_scoped_release released;
    return tuner_->next();
  }
  void record(std::size_t candidate, std::optional<double> seconds) {
    if (candidate >= count_) python::refuse("tune", "there is no candidate with this number");
    if (seconds && !is_positive(*seconds)) python::refuse("tune", "seconds must be above 0");
    const nb::gil_scoped_release released;
    seconds ? tuner_->record(candidate, *seconds) : tuner_->record_failure(candidate);
  }
  std::size_t best() const { return tuner_->best(); }
  bool is_searching() const { return tuner_->phase() != model::TunerPhase::kUse; }

 private:
  static bool is_positive(double number) { return std::isfinite(number) && number > 0; }
  static void check(const std::vector<std::vector<double>>& features,
                    const std::optional<std::vector<double>>& predicted_s) {
    const auto has_other_size = [&](const auto& one) { return one.size() != features[0].size(); };
    if (features.empty() || std::ranges::any_of(features, has_other_size))
      python::refuse("tune", "give one or more candidates with equally many features");
    if (predicted_s &&
        (predicted_s->size() != features.size() || !std::ranges::all_of(*predicted_s, is_positive)))
      python::refuse("tune", "predicted_s has a number above 0 for each candidate");
  }

  std::unique_ptr<model::CandidateTuner> tuner_;
  std::size_t count_ = 0;
};

}  // namespace

void bind_models(nb::module_& module) {
  module.def("list_machines", &list_machines, "All machine files.");
  module.def("show_machine", &show_machine, nb::arg("name"), "A machine, by its name or file.");
  module.def("compute_gain", &compute_gain, nb::arg("options"),
             "The gain of overlap. Options: compute_s, write_s, count, buffers (None: "
             "unlimited), devices, jitter, compute_jitter, seed, curves, progress.");
  module.def("model_steps", &model_steps, nb::arg("request"), nb::arg("progress") = nb::none(),
             "Time and memory of plans for steps: see tools/model/steps.hpp.");
  module.def("model_reads", &model_reads, nb::arg("request"),
             "Time and memory of reading a file: see tools/model/reads.hpp.");
  module.def("show_profile", &show_profile, nb::arg("path"), "A tuning profile, checked.");
  module.def("merge_profile", &merge_profile, nb::arg("path"), nb::arg("added"),
             "Merges the text of a tuning profile into a file.");
  module.def("study_checkpoint", &study_checkpoint, nb::arg("options"),
             "A checkpoint with each plan. Options: machines, strategies, bytes_per_rank, ranks, "
             "nodes, sizes, progress.");
  module.def("study_steps", &study_steps, nb::arg("kernel"), nb::arg("machine"), nb::arg("options"),
             "Steps of a kernel with each aggregation. Options: targets, create_ahead, progress.");
  module.def("examine_machine", &examine_machine, nb::arg("directory"), nb::arg("measure") = true,
             nb::arg("progress") = nb::none(), "Facts about this machine and a directory.");
  nb::class_<Tuner>(module, "Tuner", "Finds the fastest of numbered candidates.")
      .def(nb::init<std::vector<std::vector<double>>, std::optional<std::vector<double>>,
                    std::uint64_t>(),
           nb::arg("features"), nb::arg("predicted_s") = nb::none(), nb::arg("seed") = 0)
      .def("next", &Tuner::next, "The candidate to measure next.")
      .def("record", &Tuner::record, nb::arg("candidate"), nb::arg("seconds").none(),
           "Records a measurement; None: it failed.")
      .def_prop_ro("best", &Tuner::best, "The candidate with the least expected cost.")
      .def_prop_ro("is_searching", &Tuner::is_searching, "False once the best one is used.");
}

}  // namespace forebay::tools
