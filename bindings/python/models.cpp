// SPDX-License-Identifier: Apache-2.0
// The functions and classes of forebay.model: the gain of overlap, and signatures of accesses.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "model/gain.hpp"
#include "trace/signature.hpp"
#include "trace/signature_cursor.hpp"
#include "trace/signature_search.hpp"

namespace forebay::python {

namespace {

using Accesses = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

model::Pipeline pipeline_of(const nb::kwargs& given) {
  Options options("gain", given);
  model::Pipeline pipeline;
  options.take("compute_s", pipeline.compute_s);
  options.take("write_s", pipeline.write_s);
  options.take("count", pipeline.count);
  options.take("buffers", pipeline.buffers);
  options.take("devices", pipeline.devices);
  options.check_all_taken();
  return pipeline;
}

nb::dict gain(const nb::kwargs& given) {
  const model::Pipeline pipeline = pipeline_of(given);
  const model::Overlap run = value_of(model::overlap(pipeline));
  const model::PipelineAdvice advice = value_of(model::advise(pipeline));
  nb::dict made;
  made["gain"] = run.gain();
  made["gain_bound"] = value_of(model::gain_bound(pipeline));
  made["synchronous_s"] = run.synchronous_s;
  made["total_s"] = run.total_s;
  made["computing_s"] = run.computing_s;
  made["waiting_s"] = run.waiting_s;
  made["draining_s"] = run.draining_s;
  made["sufficient_buffers"] = advice.buffers;
  made["sufficient_devices"] = advice.devices;
  return made;
}

/// The object of the Python class Signature.
struct SignatureObject {
  std::shared_ptr<const trace::Signature> signature;
};

/// Yields the accesses of a signature, one at a time.
struct AccessIterator {
  trace::SignatureCursor cursor;
};

SignatureObject wrap(trace::Signature signature) {
  return {std::make_shared<const trace::Signature>(std::move(signature))};
}

SignatureObject recognize(const Accesses& accesses, bool is_write) {
  std::vector<trace::Access> stream;
  stream.reserve(accesses.size());
  for (const auto& [offset, size] : accesses)
    stream.push_back({.offset = offset, .size = size});
  const auto operation = is_write ? trace::Operation::kWrite : trace::Operation::kRead;
  Result<trace::Signature> found = [&] {
    const GilRelease released;
    return trace::signature_of(stream, operation);
  }();
  return wrap(value_of(std::move(found)));
}

std::pair<std::uint64_t, std::uint64_t> next_access(AccessIterator& self) {
  if (self.cursor.is_done()) throw nb::stop_iteration();
  const trace::Access access = self.cursor.current();
  self.cursor.advance();
  return {access.offset, access.size};
}

}  // namespace

void bind_models(nb::module_& module) {
  module.def(
      "gain", &gain, nb::arg("options"),
      nb::sig("def gain(**options: typing.Unpack[forebay.options.Pipeline]) "
              "-> dict[str, float]"),
      "The run of a program that computes a buffer, passes it on to be written, and computes "
      "the next, as formulas.");
  nb::class_<AccessIterator>(module, "AccessIterator")
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__", &next_access);
  nb::class_<SignatureObject>(
      module, "Signature",
      "A long series of accesses as nested loops; list(signature) has them as (offset, size).")
      .def(nb::new_([](const std::string& text) {
             return wrap(value_of(trace::parse_signature(text)));
           }),
           nb::arg("text"), "Parses one signature.")
      .def_static("recognize", &recognize, nb::arg("accesses"), nb::arg("write") = false,
                  nb::sig("def recognize(accesses: collections.abc.Sequence[tuple[int, int]], "
                          "write: bool = False) -> Signature"),
                  "A signature that reproduces the accesses (offset, size) exactly.")
      .def_prop_ro(
          "explained_share",
          [](const SignatureObject& self) { return trace::explained_share(*self.signature); },
          "Share of the accesses in loops, from 0 to 1.")
      .def_prop_ro(
          "access_count",
          [](const SignatureObject& self) { return trace::access_count(*self.signature); },
          "Number of accesses; None if counting takes too long.")
      .def("__iter__",
           [](const SignatureObject& self) {
             return AccessIterator{trace::SignatureCursor(self.signature)};
           })
      .def(
          "__eq__",
          [](const SignatureObject& self, const nb::object& other) {
            return nb::isinstance<SignatureObject>(other) &&
                   *self.signature == *nb::cast<const SignatureObject&>(other).signature;
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__str__", [](const SignatureObject& self) { return trace::to_text(*self.signature); });
}

}  // namespace forebay::python
