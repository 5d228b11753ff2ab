// SPDX-License-Identifier: Apache-2.0
// The page of the dataset format compared with the code: its byte tables, its numbers, and its
// example, which is rebuilt here.
#include <fstream>
#include <sstream>

#include "format/block_reader.hpp"
#include "format/data_header.hpp"
#include "format/dataset_testing.hpp"
#include "format/layout.hpp"

namespace forebay::format {
namespace {

std::string read_page() {
  std::ifstream file(FOREBAY_SOURCE_DIR "/docs/formats/dataset.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Row {
  std::string at;
  std::string bytes;

  friend bool operator==(const Row&, const Row&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.at << " (" << row.bytes << ")";
  }
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, '|');) {
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
  }
  return cells;
}

/// Rows of the first byte table after this text.
std::vector<Row> rows_after(const std::string& words) {
  const std::string text = read_page();
  const std::size_t begin = text.find("| at | bytes | field |", text.find(words));
  EXPECT_NE(text.find(words), std::string::npos) << words;
  std::istringstream lines(text.substr(begin));
  std::vector<Row> rows;
  std::string line;
  for (int i = 0; std::getline(lines, line) && line.starts_with('|'); ++i) {
    const auto cells = cells_of(line);
    if (i >= 2) rows.push_back({cells.at(1), cells.at(2)});
  }
  return rows;
}

Row row(std::size_t at, std::size_t bytes) { return {std::to_string(at), std::to_string(bytes)}; }

/// The rows of members of a struct, each beginning where the preceding one ends.
std::vector<Row> rows_of(std::size_t at, std::initializer_list<std::size_t> sizes) {
  std::vector<Row> rows;
  for (const std::size_t bytes : sizes) {
    rows.push_back(row(at, bytes));
    at += bytes;
  }
  return rows;
}

std::vector<Row> with_common_header(std::vector<Row> rows) {
  const std::vector<Row> start = rows_of(0, {8, 2, 2, 4, 16});
  static_assert(offsetof(layout::CommonHeader, minor) == 10);
  static_assert(offsetof(layout::CommonHeader, header_bytes) == 12);
  static_assert(offsetof(layout::CommonHeader, dataset) == 16);
  rows.insert(rows.begin(), start.begin(), start.end());
  return rows;
}

TEST(DatasetPage, has_the_layout_of_all_records) {
  EXPECT_EQ(rows_after("The header, kind `data`"),
            with_common_header(rows_of(32, {8, 4, 4044, 8})));
  static_assert(offsetof(layout::DataHeader, checksum) == 4088);
  EXPECT_EQ(
      rows_after("## Index"),
      with_common_header(rows_of(32, {8, 8, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 2, 6, 8, 8})));
  static_assert(offsetof(layout::IndexHeader, file) == 48);
  static_assert(offsetof(layout::IndexHeader, offset) == 96);
  static_assert(offsetof(layout::IndexHeader, strategy) == 136);
  static_assert(offsetof(layout::IndexHeader, attributes_bytes) == 144);
  std::vector<Row> attribute = rows_of(0, {1, 1, 1, 1, 2, 2, 8});
  attribute.push_back({"16", "8 × dimensions"});
  attribute.push_back({"…", "…"});
  EXPECT_EQ(rows_after("## Attributes"), attribute);
  static_assert(offsetof(layout::Attribute, name_bytes) == 6);
  EXPECT_EQ(rows_after("A field takes 48 bytes"), rows_of(0, {8, 8, 8, 4, 2, 1, 1, 1, 1, 14}));
  static_assert(offsetof(layout::Field, name_bytes) == 28);
  static_assert(offsetof(layout::Field, dimensions) == 33);
  EXPECT_EQ(rows_after("A block takes 48 bytes"), rows_of(0, {8, 8, 8, 8, 8, 7, 1}));
  static_assert(offsetof(layout::Block, first_word_and_codec) == 40);
  EXPECT_EQ(rows_after("## commits"),
            with_common_header(rows_of(32, {8, 8, 8, 24, 24, 8, 16, kInlineTableBytesMax, 8})));
  static_assert(offsetof(layout::CommitSlot, history) == 80);
  static_assert(offsetof(layout::CommitSlot, checksum) == 4088);
  std::vector<Row> step = rows_of(0, {8, 8, 8, 8, 8, 4, 4, 2, 6});
  step.push_back({"56", "32 × files"});
  EXPECT_EQ(rows_after("The **table** has"), step);
  static_assert(offsetof(layout::Step, strategy) == 48);
  std::vector<Row> history = with_common_header(rows_of(32, {8, 8, 8, 8, 24, 8}));
  history.push_back({"96", "…"});
  EXPECT_EQ(rows_after("to a **history table**"), history);
  static_assert(offsetof(layout::HistoryHeader, previous_last_step) == 88);
}

void expect_line(const std::string& line) {
  EXPECT_NE(read_page().find("\n" + line + "\n"), std::string::npos) << line;
}

TEST(DatasetPage, has_every_number) {
  for (std::uint8_t number = kElementTypeMin; number <= kElementTypeMax; ++number) {
    const auto type = static_cast<ElementType>(number);
    expect_line("| `" + std::string(name_of(type)) + "` | " + std::to_string(number) + " | " +
                std::to_string(element_size(type)) + " |");
  }
  for (const Codec codec : {Codec::kNone, Codec::kZstd})
    EXPECT_NE(read_page().find("| `" + std::string(name_of(codec)) + "` | " +
                               std::to_string(static_cast<int>(codec)) + " |"),
              std::string::npos);
  for (const char* magic : {"FbyData_", "FbyIndex", "FbySlot_", "FbyPast_"})
    expect_line("| 0 | 8 | magic `" + std::string(magic) + "` |");
  expect_line("| attributes | `FbyAttrs` |");
  static_assert(kAttributeBytesMax == 1_MiB);
  expect_line("| value of an attribute | 1 MiB |");
  static_assert(kAttributesMax == 65'536);
  static_assert(kAttributeTableBytesMax == 16_MiB);
  expect_line("| attributes of an index | 65,536; 16 MiB |");
  expect_line("| name of a field | " + std::to_string(kNameBytesMax) + " bytes |");
  expect_line("| dimensions | " + std::to_string(kDimensionsMax) + " |");
  expect_line("| steps of a table | " + std::to_string(kTableStepsMax) + " |");
  static_assert(kFieldsMax == 65'536);
  expect_line("| fields of a step in a file | 65,536 |");
  static_assert(kFilesMax == 1U << 20U);
  expect_line("| files of a step | 2^20 |");
  static_assert(kPieceBytes == 1_MiB);
  expect_line("| piece | 1 MiB |");
  static_assert(kTableBytesReadMax == 1_GiB);
  expect_line("| bytes of a table or history table | 2^30 |");
}

template <class Number>
void append(std::vector<std::byte>& bytes, Number number) {
  const auto* raw = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), raw, raw + sizeof number);
}

/// Four parts of two fields, as in the page.
TestStep example_step(std::uint32_t files) {
  TestStep step = {.step = 42, .files = files};
  for (std::uint64_t part = 0; part < 4; ++part) {
    TestBlock pressure = {.field = {.name = "pressure", .type = ElementType::kUint16},
                          .part = part,
                          .shape = {part + 1},
                          .file = static_cast<std::uint32_t>(part * files / 4)};
    TestBlock velocity = pressure;
    velocity.field = {.name = "velocity", .type = ElementType::kFloat32, .dimensions = 2};
    velocity.shape = {1, 2};
    for (std::uint64_t i = 0; i <= part; ++i)
      append(pressure.raw, static_cast<std::uint16_t>(256 * part + i));
    append(velocity.raw, static_cast<float>(part));
    append(velocity.raw, -static_cast<float>(part));
    step.blocks.push_back(std::move(pressure));
    step.blocks.push_back(std::move(velocity));
  }
  return step;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    if (!text.empty()) text += ' ';
    text += {"0123456789abcdef"[value >> 4U], "0123456789abcdef"[value & 0xfU]};
  }
  return text;
}

std::string hex_of(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[number >> static_cast<unsigned>(shift) & 0xfU];
  return text;
}

class ExampleTest : public DatasetTest {
 protected:
  void write(std::uint32_t files) {
    TestWriter(path(), test_dataset_id()).write(example_step(files));
    step_ = open()->step(42).value();
  }
  /// Bytes of a file as the page shows them.
  std::string dump(const std::string& name, ByteRange range) {
    const auto file = storage::must_open(path(name));
    std::vector<std::byte> bytes(range.size);
    EXPECT_EQ(file->read_at(bytes, range.offset).value_or(0), range.size);
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
      const auto line = std::span(bytes).subspan(at, std::min<std::size_t>(16, bytes.size() - at));
      std::string offset = std::to_string(range.offset + at);
      text += std::string(5 - offset.size(), ' ') + offset + "  " + hex(line) + "\n";
    }
    return text;
  }
  /// Rows of all blocks: checksums and places.
  std::vector<std::string> rows() {
    std::vector<std::string> result;
    for (const StepField& field : step_->fields())
      for (std::uint64_t part = 0; part < 4; ++part) {
        const auto place = step_->find_part(field.definition.name, part).value();
        const auto bytes = BlockReader().read(*step_, place).value();
        result.push_back("| " + field.definition.name + " | " + std::to_string(part) + " | `" +
                         hex(bytes) + "` | `" + hex_of(step_->block(place).checksum) + "`");
        locations_[result.size() - 1] += " | " +
                                         std::to_string(step_->files()[place.file].entry.file) +
                                         ": " + std::to_string(step_->block(place).offset);
      }
    return result;
  }

  std::shared_ptr<const StepCatalog> step_;
  std::map<std::size_t, std::string> locations_;
};

TEST_F(ExampleTest, has_the_same_content_and_checksums_in_any_number_of_files) {
  std::vector<std::vector<std::string>> written;
  for (const std::uint32_t files : {1U, 2U, 4U}) {
    std::filesystem::remove_all(path());
    write(files);
    written.push_back(rows());
  }
  EXPECT_EQ(written[0], written[1]);
  EXPECT_EQ(written[0], written[2]);
  for (std::size_t i = 0; i < written[0].size(); ++i)
    expect_line(written[0][i] + locations_[i] + " |");
  EXPECT_NE(locations_[7], locations_[6]);
}

TEST_F(ExampleTest, matches_the_bytes_of_the_page) {
  write(4);
  const Reference index = step_->entry().files[3].index;
  const std::string name = "data-000000.00003";
  const std::string text = dump(name, {0, 48}) + "  ...\n" + dump(name, {4088, 32}) + "  ...\n" +
                           dump(name, {index.offset, index.bytes});
  EXPECT_NE(read_page().find("```\n" + text + "```"), std::string::npos) << text;
  const std::string slot = dump("commits", {kPageBytes, 320});
  EXPECT_NE(read_page().find("```\n" + slot + "  ...\n" + dump("commits", {8184, 8}) + "```"),
            std::string::npos)
      << slot << "  ...\n"
      << dump("commits", {8184, 8});
}

TEST_F(ExampleTest, attributes_match_the_bytes_of_the_page) {
  TestStep step = example_step(4);
  AttributeTable& table = step.attributes[3];
  ASSERT_TRUE(table.set({.name = "time"}, 0.5));
  ASSERT_TRUE(table.set({AttributeScope::kDataset, "", "title"}, "A run"));
  ASSERT_TRUE(table.set({AttributeScope::kField, "velocity", "dimension_names"},
                        std::vector<std::string>{"node", "axis"}));
  TestWriter(path(), test_dataset_id()).write(step);
  const std::string name = "data-000000.00003";
  const std::string text = dump(name, {8192, 16}) + "  ...\n" + dump(name, {8336, 16}) + "  ...\n" +
                           dump(name, {12288, table.encoded_bytes()});
  EXPECT_NE(read_page().find("```\n" + text + "```"), std::string::npos) << text;
}

}  // namespace
}  // namespace forebay::format
