// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/dataset.h> that write.
#include <memory>
#include <span>
#include <string>

#include "bindings/c/array.hpp"
#include "bindings/c/block.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"
#include "runtime/runtime_access.hpp"

using namespace forebay::bindings;
using forebay::AttributeValue;
using forebay::RuntimeAccess;
using forebay::StepWriter;

struct forebay_dataset_writer {
  SharedRuntime runtime;
  forebay::DatasetWriter dataset;
};

struct forebay_step_writer {
  SharedRuntime runtime;
  StepWriter step;
};

struct forebay_buffer {
  forebay::Buffer buffer;
};

namespace {

constexpr const char* kCreateDataset = "create a dataset";
constexpr const char* kSetAttribute = "set an attribute";

std::optional<forebay::WritePlan> write_plan_of(const forebay_dataset_options& given) {
  if (given.plan != nullptr && given.plan_toml != nullptr)
    refuse_argument(kCreateDataset, "plan and plan_toml are both set; set one of them");
  if (given.plan_toml != nullptr)
    return forebay::parse_write_plan(given.plan_toml, "plan_toml").value();
  if (given.plan == nullptr) return std::nullopt;
  if (const auto strategy = forebay::parse_strategy(given.plan)) return forebay::plan_of(*strategy);
  return forebay::load_write_plan(given.plan).value();
}

forebay::DatasetOptions dataset_options_of(const forebay_dataset_options* options) {
  using forebay::ExistingDataset;
  const auto given = read_struct(kCreateDataset, options);
  return {.existing = choose({kCreateDataset, "existing", given.existing},
                             {ExistingDataset::kFail, ExistingDataset::kAppend}),
          .plan = write_plan_of(given),
          .tune = given.tune,
          .profile = text_of(given.profile)};
}

std::vector<std::string> texts_of(const char* const* texts, std::uint64_t count) {
  std::vector<std::string> made;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr)
      refuse_argument(kSetAttribute, "text " + std::to_string(i) + " of the list is NULL");
    made.emplace_back(texts[i]);
  }
  return made;
}

AttributeValue value_of(const forebay_attribute& given) {
  forebay::Shape shape;
  if (given.dimensions > 0)
    shape = shape_of({kSetAttribute, "shape"}, given.shape, given.dimensions);
  if (given.type != FOREBAY_TEXT) {
    const auto type = element_type_of_number(kSetAttribute, given.type);
    const auto bytes = bytes_of(kSetAttribute, shape, element_size(type));
    return {type, shape, memory_of(kSetAttribute, given.data, bytes)};
  }
  if (given.dimensions > 1)
    refuse_argument(kSetAttribute, "texts have " + std::to_string(given.dimensions) +
                                       " dimensions, at most 1 is possible");
  memory_of(kSetAttribute, given.data, given.dimensions == 0 ? 1 : shape[0]);
  if (given.dimensions == 0) return static_cast<const char*>(given.data);
  return texts_of(static_cast<const char* const*>(given.data), shape[0]);
}

forebay_attribute attribute_of(const forebay_attribute* attribute) {
  if (attribute == nullptr) refuse_argument(kSetAttribute, "attribute is NULL");
  const auto given = read_struct(kSetAttribute, attribute);
  if (given.name == nullptr) refuse_argument(kSetAttribute, "name is NULL");
  return given;
}

/// Runs a body that adds to a step. If it fails, the step does.
template <class Body>
void add_to(forebay_step_writer& step, Body&& body) {
  try {
    body();
  } catch (const tl::bad_expected_access<forebay::Error>& failed) {
    RuntimeAccess::fail(step.step, failed.error());
    throw;
  } catch (...) {  // memory is exhausted
    step.step.abort();
    throw;
  }
}

void put(StepWriter& step, const Block& block, const void* data) {
  const auto bytes = memory_of("put", data, block.memory_bytes());
  with_type(block.type, [&]<class T>() {
    const auto values = values_of<T>(bytes);
    check(block.box ? step.put(block.field, *block.box, values, block.layout)
                    : step.put(block.field, block.part, values, block.count, block.layout));
  });
}

/// On failure, leaves the buffer in place.
void adopt_buffer(StepWriter& step, const Block& block, forebay::Buffer& buffer) {
  with_type(block.type, [&]<class T>() {
    forebay::Adoption adoption(buffer, block.memory_bytes());
    const forebay::MemoryLayout& layout = block.layout;
    check(block.box ? step.put<T>(block.field, *block.box, adoption.data(), layout)
                    : step.put<T>(block.field, block.part, adoption.data(), block.count, layout));
  });
}

}  // namespace

int forebay_dataset_create(forebay_runtime* runtime,
                           const char* path,
                           const forebay_dataset_options* options,
                           forebay_dataset_writer** dataset,
                           forebay_error* error) {
  return make({kCreateDataset, error}, {{"runtime", runtime}, {"path", path}}, dataset, [&] {
    const auto chosen = result_of([&] { return dataset_options_of(options); });
    auto created = RuntimeAccess::create_dataset(runtime->runtime->runtime, path, chosen);
    return new forebay_dataset_writer{runtime->runtime, std::move(created).value()};
  });
}

int forebay_dataset_begin_step(forebay_dataset_writer* dataset,
                               uint64_t number,
                               forebay_step_writer** step,
                               forebay_error* error) {
  return make({"begin a step", error}, {{"dataset", dataset}}, step, [&] {
    return new forebay_step_writer{dataset->runtime, dataset->dataset.begin_step(number).value()};
  });
}

int forebay_step_put(forebay_step_writer* step,
                     const forebay_block* block,
                     const void* data,
                     forebay_error* error) {
  return run({"put", error}, {{"step", step}},
             [&] { add_to(*step, [&] { put(step->step, Block("put", block), data); }); });
}

int forebay_buffer_allocate(forebay_runtime* runtime,
                            uint64_t size,
                            void** data,
                            forebay_buffer** buffer,
                            forebay_error* error) {
  if (data != nullptr) *data = nullptr;
  return make({"allocate", error}, {{"runtime", runtime}, {"data", data}}, buffer, [&] {
    auto made = std::make_unique<forebay_buffer>(
        forebay_buffer{runtime->runtime->runtime.allocate(size).value()});
    *data = made->buffer.data();
    return made.release();
  });
}

void forebay_buffer_free(forebay_buffer* buffer) { delete buffer; }

int forebay_step_adopt(forebay_step_writer* step,
                       const forebay_block* block,
                       forebay_buffer* buffer,
                       forebay_error* error) {
  return run({"adopt", error}, {{"step", step}}, [&] {
    add_to(*step, [&] {
      const Block checked("adopt", block);
      if (buffer == nullptr) refuse_argument("adopt", "buffer is NULL");
      adopt_buffer(step->step, checked, buffer->buffer);
    });
    delete buffer;
  });
}

int forebay_step_set_attribute(forebay_step_writer* step,
                               const char* field,
                               const forebay_attribute* attribute,
                               forebay_error* error) {
  return run({kSetAttribute, error}, {{"step", step}}, [&] {
    add_to(*step, [&] {
      const auto given = attribute_of(attribute);
      check(field == nullptr ? step->step.set_attribute(given.name, value_of(given))
                             : step->step.set_field_attribute(field, given.name, value_of(given)));
    });
  });
}

int forebay_dataset_set_attribute(forebay_dataset_writer* dataset,
                                  const forebay_attribute* attribute,
                                  forebay_error* error) {
  return run({kSetAttribute, error}, {{"dataset", dataset}}, [&] {
    const auto given = attribute_of(attribute);
    check(dataset->dataset.set_attribute(given.name, value_of(given)));
  });
}

int forebay_step_commit(forebay_step_writer* step,
                        forebay_request** request,
                        forebay_error* error) {
  clear(request);
  const std::unique_ptr<forebay_step_writer> owned(step);
  return run({"commit", error}, {{"step", step}}, [&] {
    start(step->runtime, step->step.commit(), request,
          [](forebay::Receipt&& receipt, forebay_request* finished) {
            if (finished != nullptr) finished->receipt = std::move(receipt);
          });
  });
}

int forebay_request_receipt(const forebay_request* request,
                            forebay_receipt* receipt,
                            forebay_error* error) {
  const char* const operation = "return a receipt";
  return run({operation, error}, {{"request", request}, {"receipt", receipt}}, [&] {
    if (request->error) throw tl::bad_expected_access<forebay::Error>(*request->error);
    if (!request->receipt)
      refuse_argument(operation, "the request is not a finished commit; wait for it before");
    const forebay::Receipt& found = *request->receipt;
    forebay_receipt into{};
    into.step = found.step;
    into.perceived_ns = static_cast<uint64_t>(found.perceived_time.count());
    into.durable_ns = static_cast<uint64_t>(found.durable_time.count());
    into.bytes = found.bytes;
    into.copied_bytes = found.copied_bytes;
    into.adopted_bytes = found.adopted_bytes;
    write_struct(operation, receipt, into);
  });
}

void forebay_step_abort(forebay_step_writer* step) {
  if (step == nullptr) return;
  step->step.abort();
  delete step;
}

int forebay_dataset_writer_close(forebay_dataset_writer* dataset, forebay_error* error) {
  if (dataset == nullptr) return FOREBAY_OK;
  const std::unique_ptr<forebay_dataset_writer> owned(dataset);
  return run({"close a dataset", error}, {{"dataset", dataset}},
             [&] { check(dataset->dataset.close()); });
}
