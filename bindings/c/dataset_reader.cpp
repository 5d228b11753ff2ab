// SPDX-License-Identifier: Apache-2.0
// Functions of <forebay/c/dataset.h> that read.
#include <chrono>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "bindings/c/array.hpp"
#include "bindings/c/block.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/handles.hpp"

using namespace forebay::bindings;
using forebay::ErrorClass;
using forebay::FieldInfo;
using forebay::StepReader;

struct forebay_dataset_reader {
  SharedRuntime runtime;
  forebay::DatasetReader dataset;
};

struct forebay_step_reader {
  forebay_step_reader(SharedRuntime owner, StepReader opened);

  SharedRuntime runtime;
  StepReader step;
  /// Lists of texts as C reads them, for each attribute that is one. In the order of all_lists().
  std::vector<std::deque<std::vector<const char*>>> texts;
};

namespace {

std::vector<std::span<const forebay::Attribute>> all_lists(const StepReader& step) {
  std::vector<std::span<const forebay::Attribute>> lists{step.attributes(),
                                                         step.dataset_attributes()};
  for (const FieldInfo& field : step.fields())
    lists.emplace_back(field.attributes);
  return lists;
}

std::vector<const char*> pointers_to(std::span<const std::string> texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(text.c_str());
  return pointers;
}

[[noreturn]] void refuse_index(const char* operation,
                               const char* what,
                               size_t index,
                               size_t count) {
  refuse({.kind = ErrorClass::kNotFound,
          .operation = operation,
          .cause = std::string("there is no ") + what + " " + std::to_string(index) +
                   ", their number is " + std::to_string(count)});
}

const FieldInfo& find_field(const StepReader& step, const char* name) {
  const FieldInfo* const found = step.find(name);
  if (found != nullptr) return *found;
  // Its Error has the path, and the fields of the step or the damage.
  throw tl::bad_expected_access<forebay::Error>(step.parts(name).error());
}

forebay_field_info c_field_of(const FieldInfo& field) {
  forebay_field_info info{};
  info.name = field.name.c_str();
  info.type = static_cast<int>(field.type);
  info.is_global = field.kind == forebay::FieldKind::kGlobal;
  info.dimensions = field.dimensions;
  info.shape = info.is_global ? field.shape.data() : nullptr;
  info.block_count = field.blocks;
  info.bytes = field.bytes;
  info.stored_bytes = field.stored_bytes;
  info.attribute_count = field.attributes.size();
  return info;
}

/// Number of a list in the order of all_lists().
size_t list_of(const StepReader& step, const char* field) {
  if (field == nullptr) return 0;
  if (*field == '\0') return 1;
  return 2 + static_cast<size_t>(&find_field(step, field) - step.fields().data());
}

forebay_attribute c_attribute_of(const forebay::Attribute& attribute,
                                 const std::vector<const char*>& texts) {
  const forebay::AttributeValue& value = attribute.value;
  const bool is_text = value.kind() != forebay::AttributeKind::kNumbers;
  forebay_attribute made{};
  made.name = attribute.name.c_str();
  made.type = is_text ? FOREBAY_TEXT : static_cast<int>(value.type());
  made.dimensions = static_cast<uint32_t>(value.shape().size());
  made.shape = value.shape().data();
  made.data = value.bytes().data();
  if (is_text) made.data = texts.data();
  if (value.kind() == forebay::AttributeKind::kText) made.data = texts.front();
  return made;
}

void check_shape(const Block& block, const StepReader& step) {
  const forebay::Shape found = step.shape(block.field, block.part).value();
  if (found == block.count) return;
  const auto text = [](const forebay::Shape& shape) {
    std::string made;
    for (const uint64_t count : shape)
      made += (made.empty() ? "(" : ", ") + std::to_string(count);
    return made + ")";
  };
  refuse_argument("read", "count is " + text(block.count) + ", and part " +
                              std::to_string(block.part.number) + " of " + block.field +
                              " has the shape " + text(found));
}

forebay::Future<forebay::ByteCount> read_block(const StepReader& step, Block block, void* data) {
  if (block.type == forebay::ElementType::kBytes)
    block.type = find_field(step, block.field.c_str()).type;
  const auto into = memory_of("read", data, block.memory_bytes());
  if (!block.box) check_shape(block, step);
  return with_type(block.type, [&]<class T>() {
    const auto values = values_of<T>(into);
    if (!block.box) return step.read(block.field, block.part, values, block.layout);
    if (block.fill == nullptr) return step.read(block.field, *block.box, values, block.layout);
    T fill;
    std::memcpy(&fill, block.fill, sizeof fill);
    return step.read(block.field, *block.box, values, block.layout, fill);
  });
}

}  // namespace

forebay_step_reader::forebay_step_reader(SharedRuntime owner, StepReader opened)
    : runtime(std::move(owner)), step(std::move(opened)) {
  for (const auto& list : all_lists(step)) {
    auto& made = texts.emplace_back();
    for (const forebay::Attribute& attribute : list)
      made.push_back(pointers_to(attribute.value.texts()));
  }
}

int forebay_dataset_open(forebay_runtime* runtime,
                         const char* path,
                         const forebay_dataset_read_options* options,
                         forebay_dataset_reader** dataset,
                         forebay_error* error) {
  const char* const operation = "open a dataset";
  return make({operation, error}, {{"runtime", runtime}, {"path", path}}, dataset, [&] {
    const auto given = read_struct(operation, options);
    const forebay::DatasetReadOptions chosen{
        .verification = given.unverified ? forebay::Verification::kOff : forebay::Verification::kOn,
        .concurrent_readers_max = given.concurrent_readers_max};
    return new forebay_dataset_reader{runtime->runtime,
                                      runtime->runtime->runtime.open_dataset(path, chosen).value()};
  });
}

int forebay_dataset_steps(const forebay_dataset_reader* dataset,
                          const uint64_t** numbers,
                          size_t* count,
                          forebay_error* error) {
  return run({"list steps", error}, {{"dataset", dataset}, {"numbers", numbers}, {"count", count}},
             [&] {
               *numbers = dataset->dataset.steps().data();
               *count = dataset->dataset.steps().size();
             });
}

void forebay_dataset_reader_close(forebay_dataset_reader* dataset) { delete dataset; }

int forebay_dataset_open_step(forebay_dataset_reader* dataset,
                              uint64_t number,
                              forebay_step_reader** step,
                              forebay_error* error) {
  return make({"open a step", error}, {{"dataset", dataset}}, step, [&] {
    return new forebay_step_reader(dataset->runtime, dataset->dataset.open_step(number).value());
  });
}

int forebay_step_get_info(const forebay_step_reader* step,
                          forebay_step_info* info,
                          forebay_error* error) {
  return run({"describe a step", error}, {{"step", step}, {"info", info}}, [&] {
    forebay_step_info made{};
    made.number = step->step.number();
    made.begin_time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             step->step.begin_time().time_since_epoch())
                             .count();
    made.field_count = step->step.fields().size();
    made.attribute_count = step->step.attributes().size();
    made.dataset_attribute_count = step->step.dataset_attributes().size();
    write_struct("describe a step", info, made);
  });
}

int forebay_step_get_field(const forebay_step_reader* step,
                           const char* name,
                           size_t index,
                           forebay_field_info* info,
                           forebay_error* error) {
  const char* const operation = "describe a field";
  return run({operation, error}, {{"step", step}, {"info", info}}, [&] {
    const auto fields = step->step.fields();
    if (name == nullptr && index >= fields.size())
      refuse_index(operation, "field", index, fields.size());
    const FieldInfo& field = name == nullptr ? fields[index] : find_field(step->step, name);
    write_struct(operation, info, c_field_of(field));
  });
}

int forebay_step_get_attribute(const forebay_step_reader* step,
                               const char* field,
                               size_t index,
                               forebay_attribute* attribute,
                               forebay_error* error) {
  const char* const operation = "return an attribute";
  return run({operation, error}, {{"step", step}, {"attribute", attribute}}, [&] {
    const size_t number = list_of(step->step, field);
    const auto list = all_lists(step->step)[number];
    if (index >= list.size()) refuse_index(operation, "attribute", index, list.size());
    write_struct(operation, attribute, c_attribute_of(list[index], step->texts[number][index]));
  });
}

int forebay_step_list_parts(const forebay_step_reader* step,
                            const char* field,
                            forebay_part_list* parts,
                            forebay_error* error) {
  const char* const operation = "list parts";
  return run({operation, error}, {{"step", step}, {"field", field}, {"parts", parts}}, [&] {
    forebay_part_list given = read_struct(operation, parts);
    const auto found = given.rank_count == 0
                           ? step->step.parts(field).value()
                           : step->step.parts_of_rank(field, given.rank, given.rank_count).value();
    given.count = found.size();
    const size_t stored = std::min(given.capacity, given.count);
    memory_of(operation, given.numbers, stored);
    for (size_t i = 0; i < stored; ++i)
      given.numbers[i] = found[i].number;
    write_struct(operation, parts, given);
  });
}

int forebay_step_part_shape(const forebay_step_reader* step,
                            const char* field,
                            uint64_t part,
                            uint64_t* shape,
                            forebay_error* error) {
  return run({"return a shape", error}, {{"step", step}, {"field", field}, {"shape", shape}}, [&] {
    const forebay::Shape found = step->step.shape(field, forebay::Part{part}).value();
    std::copy(found.begin(), found.end(), shape);
  });
}

int forebay_step_read(forebay_step_reader* step,
                      const forebay_block* block,
                      void* data,
                      forebay_request** request,
                      forebay_error* error) {
  clear(request);
  return run({"read", error}, {{"step", step}, {"block", block}}, [&] {
    start(step->runtime, read_block(step->step, Block("read", block), data), request, discard);
  });
}

int forebay_step_damage(const forebay_step_reader* step, size_t index, forebay_error* error) {
  return run({"return damage", error}, {{"step", step}}, [&] {
    const auto errors = step->step.errors();
    if (index < errors.size()) throw tl::bad_expected_access<forebay::Error>(errors[index]);
  });
}

void forebay_step_close(forebay_step_reader* step) { delete step; }
