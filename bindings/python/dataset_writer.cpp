// SPDX-License-Identifier: Apache-2.0
// The Python classes DatasetWriter, StepWriter, Receipt and Buffer.
#include <atomic>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/attributes.hpp"
#include "bindings/python/module.hpp"
#include "bindings/python/options.hpp"
#include "bindings/python/request.hpp"
#include "runtime/runtime_access.hpp"

namespace forebay::python {

namespace {

using WriterHandle = Handle<DatasetWriter>;

/// Memory from Runtime::allocate() as an array.
class ArrayBuffer final : public ExportedMemory {
 public:
  ArrayBuffer(Buffer buffer, ElementType type, Shape shape)
      : buffer_(std::move(buffer)), type_(type), shape_(std::move(shape)) {}

  std::span<std::byte> bytes() const override {
    if (is_taken_)
      throw Failure(Error({.kind = ErrorClass::kClosed,
                           .operation = "use a buffer",
                           .cause = "a step has adopted it; allocate another one"}));
    return buffer_.bytes();
  }
  ElementType type() const override { return type_; }
  Shape shape() const override { return shape_; }
  Buffer take() {
    check_unused("put");
    static_cast<void>(bytes());
    is_taken_ = true;
    return std::move(buffer_);
  }
  void give_back(Buffer buffer) {
    buffer_ = std::move(buffer);
    is_taken_ = false;
  }

 private:
  Buffer buffer_;
  ElementType type_;
  Shape shape_;
  bool is_taken_ = false;
};

/// A step, shared with a call that a signal has interrupted.
struct StepCell {
  StepWriter step;
  std::atomic<bool> is_busy = false;
};

/// The destination of put().
struct PutTarget {
  std::string field;
  std::optional<Part> part;
  Subarray block;
  Shape shape;  // of a part
};

PutTarget put_target(const std::string& field, const Shape& shape, Options& options) {
  PutTarget target{.field = field, .part = std::nullopt, .block = {}, .shape = shape};
  std::optional<std::uint64_t> number;
  options.take("part", number);
  options.take("start", target.block.start);
  options.take("shape", target.block.shape);
  if (number) target.part = Part{*number};
  const bool is_block = !target.block.shape.empty() || !target.block.start.empty();
  if (number.has_value() == is_block)
    throw nb::type_error("put() takes either part=, or start= and shape= of a global array");
  target.block.count = shape;
  return target;
}

Status put_bytes(StepWriter& step, const PutTarget& target, const ForeignMemory& data) {
  return with_type(data.type(), [&](auto example) {
    const auto values = data.as<const decltype(example)>();
    return target.part ? step.put(target.field, *target.part, values, target.shape, data.layout())
                       : step.put(target.field, target.block, values, data.layout());
  });
}

/// On failure, leaves the buffer in place.
Status adopt_bytes(StepWriter& step, const PutTarget& target, ElementType type, Buffer& buffer) {
  return with_type(type, [&](auto example) {
    using Value = decltype(example);
    Adoption adoption(buffer, buffer.size());
    return target.part ? step.put<Value>(target.field, *target.part, adoption.data(), target.shape)
                       : step.put<Value>(target.field, target.block, adoption.data());
  });
}

/// The object of the Python class StepWriter.
class StepObject final : public Handle<std::unique_ptr<StepCell>> {
 public:
  using Handle::Handle;

  /// What put() refuses before the step sees it fails the step, too, as it does in C++.
  void put(const std::string& field, const nb::object& data, const nb::kwargs& given) {
    try {
      put_checked(field, data, given);
    } catch (const Failure& refused) {
      fail(refused.error);
      throw;
    }
  }

  void set_attributes(const nb::dict& values, const std::optional<std::string>& field) {
    const auto held = idle("set an attribute");
    StepWriter& step = held->value->step;
    python::set_attributes(values, [&](const std::string& name, const AttributeValue& value) {
      return field ? step.set_field_attribute(*field, name, value)
                   : step.set_attribute(name, value);
    });
  }

  std::shared_ptr<Request> commit() {
    const auto held = idle("commit");
    committed_ = make_request(held->runtime, nullptr, held->value->step.commit(),
                              [](Receipt receipt) { return nb::cast(std::move(receipt)); });
    drop();
    return committed_;
  }

  void abort() {
    if (!is_open()) return;
    const auto held = live("abort");
    // A call that a signal has interrupted still uses the step, and then destroys it.
    if (!held->value->is_busy) held->value->step.abort();
    drop();
  }

  std::shared_ptr<Request> committed() const { return committed_; }
  std::uint64_t number() const { return live("number")->value->step.number(); }

 private:
  void put_checked(const std::string& field, const nb::object& data, const nb::kwargs& given) {
    Options options("put", given);
    bool is_adopted = false;
    options.take("adopt", is_adopted);
    if (is_adopted) return adopt_buffer(field, data, options);
    const auto memory =
        std::make_shared<ForeignMemory>("put", data, Need::kRead, Elements::kStrided);
    const PutTarget target = put_target(field, memory->shape(), options);
    options.check_all_taken();
    check(use([target, memory](StepWriter& step) { return put_bytes(step, target, *memory); }));
  }

  void fail(const Error& why) {
    if (!is_open()) return;
    const auto held = live("put");
    if (!held->value->is_busy) RuntimeAccess::fail(held->value->step, why);
  }

  void adopt_buffer(const std::string& field, const nb::object& data, Options& options) {
    if (!nb::isinstance<ArrayBuffer>(data))
      throw nb::type_error("put(adopt=True) takes a Buffer of Runtime.allocate()");
    auto& array = nb::cast<ArrayBuffer&>(data);
    const PutTarget target = put_target(field, array.shape(), options);
    options.check_all_taken();
    static_cast<void>(idle("put"));
    auto buffer = std::make_shared<Buffer>(array.take());
    const Status done = use([target, type = array.type(), buffer](StepWriter& step) {
      return adopt_bytes(step, target, type, *buffer);
    });
    if (!done) array.give_back(std::move(*buffer));
    check(done);
  }

  LivePointer<std::unique_ptr<StepCell>> idle(const char* operation) const {
    auto held = live(operation);
    if (held->value->is_busy)
      throw Failure(Error({.kind = ErrorClass::kClosed,
                           .operation = operation,
                           .cause = "an interrupted or concurrent call uses the step; abort it"}));
    return held;
  }

  template <class F>
  Status use(F work) {
    const auto held = idle("put");
    held->value->is_busy = true;
    return call([held, work = std::move(work)] {
      Status status = work(held->value->step);
      held->value->is_busy = false;
      return status;
    });
  }

  std::shared_ptr<Request> committed_;
};

/// The value of a plan's key as TOML. NumPy scalars are those of Python.
std::string toml_value(const std::string& key, nb::handle given) {
  const nb::object scalar_type = nb::module_::import_("numpy").attr("generic");
  nb::object value = nb::borrow(given);
  if (PyObject_IsInstance(given.ptr(), scalar_type.ptr()) == 1) value = given.attr("item")();
  if (value.is(Py_True)) return "true";
  if (value.is(Py_False)) return "false";
  if (PyUnicode_Check(value.ptr()))
    return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value));
  if (!PyLong_Check(value.ptr()) && !PyFloat_Check(value.ptr()))
    refuse("create a dataset", "plan: '" + key + "' is " + nb::repr(value).c_str() +
                                   "; pass a text, a number or a bool, or omit the key");
  return nb::str(value).c_str();
}

WritePlan plan_of_dict(const nb::dict& given) {
  std::string text;
  for (const auto [name, value] : given) {
    const std::string key = nb::str(name).c_str();
    text += key + " = " + toml_value(key, value) + "\n";
  }
  return value_of(parse_write_plan(text, "plan"));
}

WritePlan write_plan_of(const nb::object& given) {
  if (nb::isinstance<nb::dict>(given)) return plan_of_dict(nb::borrow<nb::dict>(given));
  const std::string text = path_of(given);
  if (text.ends_with(".toml")) return value_of(load_write_plan(text));
  return plan_of(value_of(parse_strategy(text)));
}

std::shared_ptr<StepObject> begin_step(const WriterHandle& self, std::uint64_t number) {
  const auto held = self.live("begin_step");
  StepWriter step = value_of(self.call([held, number] { return held->value.begin_step(number); }));
  auto cell = std::make_unique<StepCell>(std::move(step));
  return make_handle<StepObject>(self.context(), held->runtime, std::move(cell));
}

nb::dict report_of_writer(const WriterHandle& self) {
  const DatasetReport report = self.value("report").report();
  nb::dict made;
  made["steps_published"] = report.steps_published;
  made["steps_failed"] = report.steps_failed;
  made["bytes"] = report.bytes;
  made["written_bytes"] = report.written_bytes;
  made["staging_bytes_max"] = report.staging_bytes_max;
  return made;
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void bind_receipt(nb::module_& module) {
  nb::class_<Receipt>(module, "Receipt", "The outcome of a commit: the step is durable.")
      .def_ro("step", &Receipt::step)
      .def_prop_ro(
          "perceived_s", [](const Receipt& self) { return seconds(self.perceived_time); },
          "Seconds for which this rank was blocked in step(), put() and commit().")
      .def_prop_ro(
          "durable_s", [](const Receipt& self) { return seconds(self.durable_time); },
          "Seconds until the whole step was durable.")
      .def_ro("bytes", &Receipt::bytes, "Bytes that this rank has put.")
      .def_ro("copied_bytes", &Receipt::copied_bytes)
      .def_ro("adopted_bytes", &Receipt::adopted_bytes)
      .def_prop_ro(
          "plan", [](const Receipt& self) { return self.plan ? to_toml(*self.plan) : ""; },
          "The plan of the step as TOML.");
}

void bind_step_writer(nb::module_& module) {
  nb::class_<StepObject>(
      module, "StepWriter",
      "A step in progress. At its end, a `with` block commits the step, or aborts it if an "
      "exception leaves the block. One thread at a time.")
      .def_prop_ro("number", &StepObject::number)
      .def("put", &StepObject::put, nb::arg("field"), nb::arg("data").none(), nb::arg("options"),
           nb::sig("def put(self, field: str, data: typing.Any, "
                   "**options: typing.Unpack[forebay.options.PutOptions]) -> None"),
           "Adds a part (part=3), or a block of a global array (start=(0, 64), shape=(128, 128)). "
           "Copies the array; adopt=True writes a Buffer without a copy. Blocks while no "
           "staging memory is free.")
      .def("set_attributes", &StepObject::set_attributes, nb::arg("values"),
           nb::arg("field") = nb::none(),
           "Sets attributes of the step, or of one of its fields: numbers, arrays, texts.")
      .def("commit", &StepObject::commit, nb::sig("def commit(self) -> Future[Receipt]"),
           "Ends the step of this rank. The future is ready when the step is durable on all ranks, "
           "or has failed.")
      .def_prop_ro("committed", &StepObject::committed,
                   nb::sig("def committed(self) -> Future[Receipt] | None"),
                   "The future of the commit; None before.")
      .def("abort", &StepObject::abort, "Aborts the step on all ranks: it is never visible.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](StepObject& self, const nb::args& raised) {
        if (!raised[0].is_none()) self.abort();
        if (self.is_open()) self.commit();
      });
}

}  // namespace

nb::object create_dataset(RuntimeState& state, const nb::object& path, const nb::kwargs& given) {
  Options options("create_dataset", given);
  DatasetOptions chosen;
  bool is_append = false;
  options.take("append", is_append);
  if (is_append) chosen.existing = ExistingDataset::kAppend;
  options.take("tune", chosen.tune);
  options.take("profile", chosen.profile);
  const nb::object plan = options.pop("plan");
  options.check_all_taken();
  const Result<DatasetOptions> agreed = result_of([&] {
    if (!plan.is_none()) chosen.plan = write_plan_of(plan);
    return chosen;
  });
  const RuntimePointer runtime = state.runtime("create_dataset");
  auto created = state.context()->call([runtime, name = path_of(path), agreed] {
    return RuntimeAccess::create_dataset(*runtime, name, agreed);
  });
  auto writer = make_handle<WriterHandle>(state.context(), runtime, value_of(std::move(created)));
  return nb::cast(writer);
}

nb::object allocate(RuntimeState& state,
                    const nb::object& shape,
                    const nb::object& dtype,
                    const nb::kwargs& given) {
  Options options("allocate", given);
  bool is_pinned = false;
  options.take("pinned", is_pinned);
  options.check_all_taken();
  const ElementType type = parse_numpy_type("allocate", dtype);
  Shape extents;
  std::uint64_t length = 0;
  if (nb::try_cast(shape, length))
    extents = {length};
  else if (!nb::try_cast(shape, extents))
    refuse("allocate", "the shape is neither a number of elements nor a sequence of such");
  std::uint64_t bytes = element_size(type);
  for (const std::uint64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) refuse("allocate", "the shape is too large");
  const auto kind = is_pinned ? MemoryKind::kPinned : MemoryKind::kHost;
  const RuntimePointer runtime = state.runtime("allocate");
  Buffer buffer = value_of(runtime->allocate(bytes, kind));
  return nb::cast(std::make_unique<ArrayBuffer>(std::move(buffer), type, std::move(extents)));
}

void bind_writers(nb::module_& module) {
  bind_receipt(module);
  bind_step_writer(module);
  static_cast<void>(nb::class_<ArrayBuffer, ExportedMemory>(
      module, "Buffer", "Memory of Runtime.allocate(): numpy.asarray(buffer) uses it."));
  nb::class_<WriterHandle>(
      module, "DatasetWriter",
      "A dataset that this program writes. At its end, a `with` block waits for all steps and "
      "raises the first Error of any step.")
      .def("step", &begin_step, nb::arg("number"),
           "Begins a step with a larger number than all before. Blocks while too many steps are "
           "in progress.")
      .def_prop_ro("path", [](const WriterHandle& self) { return self.value("path").path(); })
      .def_prop_ro("newest_step",
                   [](const WriterHandle& self) { return self.value("newest_step").newest_step(); })
      .def_prop_ro(
          "plan", [](const WriterHandle& self) { return to_toml(self.value("plan").plan()); },
          "The plan at opening as TOML; comments explain it.")
      .def_prop_ro("report", &report_of_writer, "Totals of this rank for the dataset.")
      .def(
          "set_attributes",
          [](const WriterHandle& self, const nb::dict& values) {
            DatasetWriter& dataset = self.value("set an attribute");
            set_attributes(values, [&](const std::string& name, const AttributeValue& value) {
              return dataset.set_attribute(name, value);
            });
          },
          nb::arg("values"), "Sets attributes of the dataset, for each step committed afterwards.")
      .def("close", &WriterHandle::close,
           "Waits for all committed steps. Raises the first Error of any step.")
      .def("__enter__", &identity, nb::sig("def __enter__(self) -> typing.Self"))
      .def("__exit__", [](WriterHandle& self, const nb::args& raised) {
        try {
          self.close();
        } catch (const Failure&) {
          if (raised[0].is_none()) throw;  // an exception that is under way comes first
        }
      });
}

}  // namespace forebay::python
