// SPDX-License-Identifier: Apache-2.0
// dataset_samples DIRECTORY: writes small datasets into DIRECTORY, for tests of the command line.
// Values are functions of step, part and position, so that tests can compute them.
//
// run.fb     steps 10, 20, 30; 5 parts of "pressure" and "velocity" in 2 files
// other.fb   the same, but in step 30 one value is larger by 0.5 and part 4 of velocity is missing
// killed.fb  steps 10 and 20 of run.fb; data of step 30, which was not published
// packed.fb  step 1, zstd: "zeros", one part of 3 pieces; "mixed", of one piece that is compressed
//            and one that is not
// grid.fb    step 1, global 6 x 8 "temperature" in 4 blocks, 7 x 4 "short" in 3, "odd" in 2 blocks
//            that form no grid, "slabs" of 85, 85 and 86 rows, "a/b" big endian
// types.fb   steps 1 and 2, the second with zstd; for each element type and byte order, as in
//            "int16 big": parts of 2 (step 2: 200), 0 and 1 rows of 3, and in "one int16 big" a
//            part without dimensions; "Größe 速度/x". No value is a NaN
// described.fb  steps 1 and 2 of two files with attributes of all kinds, types and scopes; their
//            "time" differs, and only step 2 has "cycle"
// image.fb   steps 1 to 3 of a regular grid of 6 x 8 x 10 points, in 8 blocks: "temperature" and
//            "velocity" (3 components) of points, "load" of cells. Values are of step and position
// mesh.fb    steps 1 to 3 of two pieces of a mesh of tetrahedra, which steps 1 and 3 hold: "rank"
// of
//            cells, "height" and "speed" (3 components) of points
// overlap.fb steps 1 and 2 of 6 elements: "u", only in step 1, of two blocks that overlap; "v",
// whose
//            type differs; "w", only in step 2, without dimensions; "x" without its first and last
//            one
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/testing.hpp"

namespace {

using forebay::AttributeValue;
using forebay::ByteOrder;
using forebay::ElementType;
using forebay::format::AttributeScope;
using forebay::format::AttributeTable;
using forebay::format::Coordinates;
using forebay::format::FieldDefinition;
using forebay::format::FieldKind;
using forebay::format::TestBlock;
using forebay::format::TestStep;
using forebay::format::TestWriter;

TestBlock make_block(const FieldDefinition& field,
                     const Coordinates& start,
                     const Coordinates& count) {
  TestBlock block = {.field = field, .start = start, .shape = count};
  for (std::uint64_t i = start[0]; i < start[0] + count[0]; ++i)
    for (std::uint64_t j = start[1]; j < start[1] + count[1]; ++j) {
      const auto value = static_cast<std::int32_t>(i * field.shape[1] + j);
      std::array<std::byte, sizeof value> bytes{};
      std::memcpy(bytes.data(), &value, sizeof value);
      if (field.order == ByteOrder::kBig) std::ranges::reverse(bytes);
      block.raw.insert(block.raw.end(), bytes.begin(), bytes.end());
    }
  return block;
}

FieldDefinition matrix(const std::string& name, const Coordinates& shape) {
  return {.name = name,
          .type = ElementType::kInt32,
          .kind = FieldKind::kGlobal,
          .dimensions = 2,
          .shape = shape};
}

void write_run(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  for (const std::uint64_t step : {10U, 20U, 30U})
    writer.write(forebay::format::test_step(step, 5, 2));
}

void write_other(const std::string& directory) {
  TestWriter writer(directory, {std::byte{7}});
  for (const std::uint64_t step : {10U, 20U})
    writer.write(forebay::format::test_step(step, 5, 2));
  TestStep last = forebay::format::test_step(30, 5, 2);
  double value = 0;
  std::memcpy(&value, last.blocks[0].raw.data() + 80, sizeof value);
  value += 0.5;
  std::memcpy(last.blocks[0].raw.data() + 80, &value, sizeof value);
  last.blocks.pop_back();
  writer.write(last);
}

/// The files of a program that was killed before step 30 was published.
void write_killed(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  for (const std::uint64_t step : {10U, 20U})
    writer.write(forebay::format::test_step(step, 5, 2));
  writer.write_data(forebay::format::test_step(30, 5, 2));
}

void write_packed(const std::string& directory) {
  constexpr std::size_t kPiece = forebay::format::kPieceBytes;
  TestStep step = {.step = 1, .codec = forebay::format::Codec::kZstd};
  const FieldDefinition zeros = {.name = "zeros", .type = ElementType::kUint8};
  const FieldDefinition mixed = {.name = "mixed", .type = ElementType::kUint8};
  step.blocks.push_back({.field = zeros,
                         .part = 3,
                         .shape = {2 * kPiece + 500},
                         .raw = std::vector<std::byte>(2 * kPiece + 500)});
  std::vector<std::byte> noise(2 * kPiece);
  std::mt19937 random(1);
  for (std::size_t i = kPiece; i < noise.size(); ++i)
    noise[i] = static_cast<std::byte>(random());
  step.blocks.push_back({.field = mixed, .shape = {noise.size()}, .raw = noise});
  TestWriter(directory, forebay::format::test_dataset_id()).write(step);
}

void write_grid(const std::string& directory) {
  TestStep step = {.step = 1, .files = 2};
  for (const std::uint64_t i : {0U, 3U})
    for (const std::uint64_t j : {4U, 0U})
      step.blocks.push_back(make_block(matrix("temperature", {6, 8}), {i, j}, {3, 4}));
  for (const std::uint64_t i : {0U, 3U, 6U})
    step.blocks.push_back(
        make_block(matrix("short", {7, 4}), {i, 0}, {std::min<std::uint64_t>(3, 7 - i), 4}));
  step.blocks.push_back(make_block(matrix("odd", {6, 4}), {0, 0}, {6, 1}));
  step.blocks.push_back(make_block(matrix("odd", {6, 4}), {0, 1}, {6, 3}));
  for (const std::uint64_t i : {0U, 85U, 170U})
    step.blocks.push_back(make_block(matrix("slabs", {256, 4}), {i, 0}, {i == 170 ? 86U : 85U, 4}));
  FieldDefinition big = matrix("a/b", {2, 3});
  big.order = ByteOrder::kBig;
  step.blocks.push_back(make_block(big, {0, 0}, {2, 3}));
  for (std::size_t i = 0; i < step.blocks.size(); ++i)
    step.blocks[i].file = i % 2;
  TestWriter(directory, forebay::format::test_dataset_id()).write(step);
}

/// Byte `i` of a pattern. In either byte order, no number has an exponent that is all ones.
std::byte pattern_byte(std::size_t i) {
  return static_cast<std::byte>((37 * i + 11) % 64 + (i % 5 == 0 ? 128 : 0));
}

TestBlock make_patterned(const FieldDefinition& field,
                         std::uint64_t part,
                         const Coordinates& shape) {
  TestBlock block = {.field = field, .part = part, .shape = shape};
  block.raw.resize(forebay::format::array_bytes(field.type, shape).value());
  const std::size_t first = 1000 * static_cast<std::size_t>(field.type) + 100 * part;
  for (std::size_t i = 0; i < block.raw.size(); ++i)
    block.raw[i] = pattern_byte(first + i);
  block.file = part % 2;
  return block;
}

void add_type(TestStep& step, ElementType type, ByteOrder order, std::uint64_t rows) {
  const std::string name =
      std::string(forebay::name_of(type)) + (order == ByteOrder::kBig ? " big" : "");
  const FieldDefinition field = {.name = name, .type = type, .order = order, .dimensions = 2};
  const std::array<std::uint64_t, 3> all_rows{rows, 0, 1};
  for (std::uint64_t part = 0; part < all_rows.size(); ++part)
    step.blocks.push_back(make_patterned(field, part, {all_rows.at(part), 3}));
  const FieldDefinition one = {
      .name = "one " + name, .type = type, .order = order, .dimensions = 0};
  step.blocks.push_back(make_patterned(one, 5, {}));
}

void write_types(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  for (const std::uint64_t number : {1U, 2U}) {
    using enum forebay::format::Codec;
    TestStep step = {.step = number, .files = 2, .codec = number == 1 ? kNone : kZstd};
    const std::uint64_t rows = number == 1 ? 2 : 200;
    for (std::uint8_t type = forebay::kElementTypeMin; type <= forebay::kElementTypeMax; ++type)
      for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig})
        add_type(step, static_cast<ElementType>(type), order, rows);
    const FieldDefinition named = {.name = "Größe 速度/x", .type = ElementType::kFloat64};
    step.blocks.push_back(make_patterned(named, 0, {rows}));
    writer.write(step);
  }
}

void set(AttributeTable& table,
         AttributeScope scope,
         std::string_view name,
         const AttributeValue& value) {
  const std::string field = scope == AttributeScope::kField ? "velocity" : "";
  if (!table.set({scope, field, std::string(name)}, value)) std::abort();
}

AttributeTable field_attributes() {
  AttributeTable table;
  set(table, AttributeScope::kField, "units", "m [s-1]");
  set(table, AttributeScope::kField, "dimension_names", std::vector<std::string>{"node", "axis"});
  for (std::uint8_t type = forebay::kElementTypeMin; type <= forebay::kElementTypeMax; ++type) {
    const auto element = static_cast<ElementType>(type);
    std::vector<std::byte> bytes(2 * forebay::element_size(element));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = pattern_byte(type + i);
    set(table, AttributeScope::kField, name_of(element), AttributeValue(element, {2, 1}, bytes));
  }
  return table;
}

void write_described(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::uint64_t number : {1U, 2U}) {
    TestStep step = forebay::format::test_step(number, 5, 2);
    AttributeTable& first = step.attributes[0];
    set(first, AttributeScope::kDataset, "title", "A run, Größe 速度\nline 2");
    set(first, AttributeScope::kStep, "time", 0.25 * static_cast<double>(number));
    AttributeTable& second = step.attributes[1] = field_attributes();
    set(second, AttributeScope::kStep, "time", 0.25 * static_cast<double>(number));
    if (number == 2) set(second, AttributeScope::kStep, "cycle", UINT64_MAX);
    set(second, AttributeScope::kStep, "none", std::vector<std::string>());
    set(second, AttributeScope::kStep, "large", std::vector<double>(100'000, 0.5));
    set(second, AttributeScope::kStep, "limits", std::vector{kInfinity, -kInfinity});
    writer.write(step);
  }
}

using enum AttributeScope;

AttributeTable mesh_attributes(std::uint64_t step, std::string_view type) {
  AttributeTable table;
  set(table, kDataset, "vtk_type", std::string(type));
  set(table, kStep, "time", 0.5 * static_cast<double>(step));
  return table;
}

void set_of_field(AttributeTable& table,
                  const std::string& field,
                  std::string_view name,
                  const AttributeValue& value) {
  if (!table.set({kField, field, std::string(name)}, value)) std::abort();
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A box of an array whose elements are 1000 * step plus their linear index.
TestBlock make_box(const FieldDefinition& field,
                   std::uint64_t step,
                   const Coordinates& start,
                   const Coordinates& count) {
  std::vector<float> values;
  Coordinates at(count.size(), 0);
  for (bool is_done = false; !is_done;) {
    std::uint64_t index = 0;
    for (std::size_t d = 0; d < count.size(); ++d)
      index = index * field.shape[d] + start[d] + at[d];
    values.push_back(static_cast<float>(1000 * step + index));
    std::size_t d = count.size();
    while (d > 0 && ++at[d - 1] == count[d - 1])
      at[--d] = 0;
    is_done = d == 0;
  }
  return {.field = field, .start = start, .shape = count, .raw = bytes_of(values)};
}

FieldDefinition grid_field(const std::string& name, const Coordinates& shape) {
  return {.name = name,
          .type = ElementType::kFloat32,
          .kind = FieldKind::kGlobal,
          .dimensions = static_cast<std::uint8_t>(shape.size()),
          .shape = shape};
}

void write_image(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    TestStep step = {.step = number, .files = 2};
    AttributeTable& table = step.attributes[0] = mesh_attributes(number, "ImageData");
    set(table, kDataset, "vtk_origin", std::vector{1.0, 2.0, 3.0});
    set(table, kDataset, "vtk_spacing", std::vector{0.1, 0.2, 0.3});
    set_of_field(table, "temperature", "units", "K");
    set_of_field(table, "temperature", "dimension_names", std::vector<std::string>{"z", "y", "x"});
    set_of_field(table, "load", "vtk_association", "CellData");
    for (const std::uint64_t z : {0U, 3U})
      for (const std::uint64_t y : {0U, 4U})
        for (const std::uint64_t x : {0U, 5U}) {
          const Coordinates start{z, y, x};
          step.blocks.push_back(
              make_box(grid_field("temperature", {6, 8, 10}), number, start, {3, 4, 5}));
          step.blocks.push_back(
              make_box(grid_field("velocity", {6, 8, 10, 3}), number, {z, y, x, 0}, {3, 4, 5, 3}));
        }
    step.blocks.push_back(make_box(grid_field("load", {5, 7, 9}), number, {0, 0, 0}, {5, 7, 9}));
    for (std::size_t i = 0; i < step.blocks.size(); ++i)
      step.blocks[i].file = i % 2;
    writer.write(step);
  }
}

template <class T>
TestBlock make_part(const FieldDefinition& field,
                    std::uint64_t part,
                    const Coordinates& shape,
                    const std::vector<T>& values) {
  return {.field = field,
          .part = part,
          .shape = shape,
          .raw = bytes_of(values),
          .file = static_cast<std::uint32_t>(part)};
}

/// A row of `cells` tetrahedra over cells + 3 points. Part 1 is one larger than part 0.
void add_mesh(TestStep& step, std::uint64_t part, std::uint64_t cells) {
  std::vector<double> points;
  for (std::uint64_t i = 0; i < cells + 3; ++i)
    for (const double x : {static_cast<double>(i), i % 3 == 1 ? 1.0 : 0.0, i % 3 == 2 ? 1.0 : 0.0})
      points.push_back(x + 10.0 * static_cast<double>(part));
  std::vector<std::int64_t> connectivity;
  std::vector<std::int64_t> offsets{0};
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    for (std::uint64_t corner = 0; corner < 4; ++corner)
      connectivity.push_back(static_cast<std::int64_t>(cell + corner));
    offsets.push_back(static_cast<std::int64_t>(4 * (cell + 1)));
  }
  const auto field = [](const char* name, ElementType type, std::uint8_t dimensions = 1) {
    return FieldDefinition{.name = name, .type = type, .dimensions = dimensions};
  };
  step.blocks.push_back(
      make_part(field("points", ElementType::kFloat64, 2), part, {cells + 3, 3}, points));
  step.blocks.push_back(
      make_part(field("links", ElementType::kInt64), part, {4 * cells}, connectivity));
  step.blocks.push_back(make_part(field("first", ElementType::kInt64), part, {cells + 1}, offsets));
  step.blocks.push_back(make_part(field("types", ElementType::kUint8), part, {cells},
                                  std::vector<std::uint8_t>(cells, 10)));
}

void write_mesh(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    TestStep step = {.step = number, .files = 2};
    AttributeTable& table = step.attributes[0] = mesh_attributes(number, "UnstructuredGrid");
    set(table, kDataset, "vtk_points", "points");
    set(table, kDataset, "vtk_connectivity", "links");
    set(table, kDataset, "vtk_offsets", "first");
    set(table, kDataset, "vtk_types", "types");
    set_of_field(table, "rank", "vtk_association", "CellData");
    for (const std::uint64_t part : {0U, 1U}) {
      const std::uint64_t cells = (number == 3 ? 7 : 5) + part;
      if (number != 2) add_mesh(step, part, cells);
      const FieldDefinition rank = {.name = "rank", .type = ElementType::kInt32};
      step.blocks.push_back(make_part(
          rank, part, {cells}, std::vector<std::int32_t>(cells, static_cast<std::int32_t>(part))));
      std::vector<double> height(cells + 3);
      for (std::size_t i = 0; i < height.size(); ++i)
        height[i] = static_cast<double>(100 * number + 10 * part + i);
      const FieldDefinition scalar = {.name = "height", .type = ElementType::kFloat64};
      step.blocks.push_back(make_part(scalar, part, {cells + 3}, height));
      const FieldDefinition vector = {
          .name = "speed", .type = ElementType::kFloat32, .dimensions = 2};
      const std::vector<float> speed(3 * (cells + 3), static_cast<float>(number));
      step.blocks.push_back(make_part(vector, part, {cells + 3, 3}, speed));
    }
    writer.write(step);
  }
}

void write_overlap(const std::string& directory) {
  TestWriter writer(directory, forebay::format::test_dataset_id());
  TestStep first = {.step = 1};
  for (const std::uint64_t start : {0U, 1U})
    first.blocks.push_back(make_box(grid_field("u", {8}), 1, {start}, {4}));
  first.blocks.push_back(make_box(grid_field("v", {6}), 1, {0}, {6}));
  first.blocks.push_back(make_box(grid_field("x", {6}), 1, {1}, {4}));
  writer.write(first);
  TestStep second = {.step = 2};
  FieldDefinition integers = grid_field("v", {6});
  integers.type = ElementType::kInt32;
  second.blocks.push_back(make_box(integers, 2, {0}, {6}));
  const FieldDefinition scalar = {.name = "w", .type = ElementType::kFloat32, .dimensions = 0};
  second.blocks.push_back(make_part(scalar, 0, {}, std::vector{2.5F}));
  second.blocks.push_back(make_box(grid_field("x", {6}), 2, {1}, {4}));
  writer.write(second);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::string directory = words[1];
  write_run(directory + "/run.fb");
  write_other(directory + "/other.fb");
  write_killed(directory + "/killed.fb");
  write_packed(directory + "/packed.fb");
  write_grid(directory + "/grid.fb");
  write_types(directory + "/types.fb");
  write_described(directory + "/described.fb");
  write_image(directory + "/image.fb");
  write_mesh(directory + "/mesh.fb");
  write_overlap(directory + "/overlap.fb");
  return 0;
}
