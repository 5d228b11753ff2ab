// SPDX-License-Identifier: Apache-2.0
// Functions for `forebay ls|verify|repair|diff|export`.
#include <algorithm>
#include <thread>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "tools/dataset/block_stream.hpp"
#include "tools/dataset/compare.hpp"
#include "tools/dataset/verify_repair.hpp"
#include "tools/python/call.hpp"

namespace forebay::tools {

namespace {

using dataset_tool::BlockStream;
using probe::ProgressSink;

/// More do not help: each thread reads files one after another.
constexpr unsigned kThreadsMax = 8;

nb::object list_dataset(const nb::object& path, const nb::kwargs& given) {
  dataset_tool::ListOptions options{.path = path_of(path)};
  bool has_parts = false;
  Options taken("list_dataset", given);
  taken.take("step", options.step);
  taken.take("parts", has_parts);
  taken.check_all_taken();
  if (has_parts) options.blocks = dataset_tool::Blocks::kList;
  return document_of(kDatasetTool, nb::none(),
                     [options](const ProgressSink&) { return dataset_tool::list(options); });
}

nb::object verify_dataset(const nb::object& path, const nb::kwargs& given) {
  dataset_tool::VerifyRequest request{.path = path_of(path)};
  request.threads = std::clamp(std::thread::hardware_concurrency(), 1U, kThreadsMax);
  Options taken("verify_dataset", given);
  taken.take("step", request.step);
  taken.take("threads", request.threads);
  return document_of(kDatasetTool, taken, request, dataset_tool::verify);
}

nb::object repair_dataset(const nb::object& path, bool is_dry_run, const nb::object& on_progress) {
  using dataset_tool::RepairMode;
  const RepairMode mode = is_dry_run ? RepairMode::kDryRun : RepairMode::kWrite;
  return document_of(kDatasetTool, on_progress,
                     [directory = path_of(path), mode](const ProgressSink& progress) {
                       return dataset_tool::repair_tables(directory, mode, progress);
                     });
}

nb::object diff_datasets(const nb::object& left, const nb::object& right, const nb::kwargs& given) {
  dataset_tool::CompareOptions options{.left = {path_of(left)}, .right = {path_of(right)}};
  Options taken("diff_datasets", given);
  options.fields = names_of(taken.pop("fields"));
  taken.take("left_step", options.left.step);
  taken.take("right_step", options.right.step);
  return document_of(kDatasetTool, taken, options, dataset_tool::compare);
}

nb::object list_places(const nb::object& path, const nb::kwargs& given) {
  dataset_tool::PlacesRequest request{.path = path_of(path)};
  bool is_newest = false;
  Options taken("list_places", given);
  taken.take("step", request.step);
  taken.take("newest", is_newest);
  taken.check_all_taken();
  if (is_newest) request.which = dataset_tool::PlacesRequest::Which::kNewest;
  return document_of(kDatasetTool, nb::none(),
                     [request](const ProgressSink&) { return dataset_tool::list_places(request); });
}

BlockStream open_blocks(const nb::object& path, const nb::kwargs& given) {
  dataset_tool::Selection selection{.path = path_of(path)};
  Options taken("open_blocks", given);
  selection.fields = names_of(taken.pop("fields"));
  taken.take("step", selection.step);
  taken.check_all_taken();
  auto stream = [&] {
    const nb::gil_scoped_release released;
    return BlockStream::open(selection);
  }();
  if (!stream) raise_error(stream.error(), kDatasetTool);
  return std::move(*stream);
}

nb::object next_block(BlockStream& stream) {
  const auto block = stream.next();
  if (!block) throw nb::stop_iteration();
  return to_python(*block);
}

void read_into(BlockStream& stream, const nb::object& buffer) {
  Py_buffer view{};
  if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_CONTIG) != 0) throw nb::python_error();
  const Status done = [&] {
    const nb::gil_scoped_release released;
    return stream.read({static_cast<std::byte*>(view.buf), static_cast<std::size_t>(view.len)});
  }();
  PyBuffer_Release(&view);
  if (!done) raise_error(done.error(), kDatasetTool);
}

}  // namespace

void bind_datasets(nb::module_& module) {
  module.def("list_dataset", &list_dataset, nb::arg("path"), nb::arg("options"),
             "Steps, and fields of one of them. Options: step, parts.");
  module.def("verify_dataset", &verify_dataset, nb::arg("path"), nb::arg("options"),
             "All damage. Options: step, threads, progress.");
  module.def("repair_dataset", &repair_dataset, nb::arg("path"), nb::arg("dry_run") = false,
             nb::arg("progress") = nb::none(), "Writes new tables.");
  module.def("diff_datasets", &diff_datasets, nb::arg("left"), nb::arg("right"), nb::arg("options"),
             "Differences of two steps. Options: left_step, right_step, fields, progress.");
  module.def("list_places", &list_places, nb::arg("path"), nb::arg("options"),
             "Where the blocks of all steps are stored. Options: step, newest.");
  nb::class_<BlockStream>(module, "BlockStream",
                          "Yields a description of each block of a step. Calls block; readinto() "
                          "releases the GIL.")
      .def_prop_ro("head", [](const BlockStream& stream) { return to_python(stream.head()); })
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__", &next_block)
      .def("readinto", &read_into, nb::arg("buffer"),
           "Fills a writable, contiguous buffer with the next bytes of the block.");
  module.def("open_blocks", &open_blocks, nb::arg("path"), nb::arg("options"),
             "A BlockStream. Options: step, fields.");
}

}  // namespace forebay::tools
