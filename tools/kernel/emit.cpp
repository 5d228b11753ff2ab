// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/emit.hpp"

#include <cinttypes>
#include <cstdio>
#include <span>

#include "command/atomic_file.hpp"

namespace forebay::kernel {

namespace {

/// Names the constants of a C file and writes them before those that point to them.
class CFile {
 public:
  /// Adds a constant array; returns the expression that points to it.
  std::string add(const char* type, const std::string& items) {
    if (items.empty()) return "0";
    std::string name = "k" + std::to_string(count_++);
    text_ += "static const " + std::string(type) + " " + name + "[] = {" + items + "};\n";
    return name;
  }
  std::string numbers(const double* values, std::size_t count) {
    std::string items;
    for (std::size_t i = 0; values != nullptr && i < count; ++i)
      items += real(values[i]) + ",";
    return add("double", items);
  }
  /// Exact.
  static std::string real(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
  }
  void append(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int count_ = 0;
};

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string integer(std::int64_t value) { return "INT64_C(" + std::to_string(value) + ")"; }

std::string distribution(CFile& file, const fk_distribution& one, std::size_t depth = 0) {
  std::string parts;
  for (std::size_t i = 0; one.family == FK_MIXTURE && i < one.count; ++i)
    parts += distribution(file, one.parts[i], depth + 1) + ",";
  const bool has_values =
      one.family == FK_TABLE || one.family == FK_QUANTILES || one.family == FK_REPLAY;
  const bool has_weights = one.family == FK_TABLE || one.family == FK_MIXTURE;
  const std::string values = has_values ? file.numbers(one.values, one.count) : "0";
  const std::string weights = has_weights ? file.numbers(one.weights, one.count) : "0";
  const std::string pointed = file.add("struct fk_distribution", parts);
  std::string text = "{" + number(one.family) + "," + number(one.drawn) + ",{";
  for (const double parameter : one.parameters)
    text += CFile::real(parameter) + ",";
  text += "}," + number(one.balance) + "," + number(one.count) + "," + values + "," + weights +
          "," + pointed + ",{";
  for (const std::uint32_t size : one.shape)
    text += number(size) + ",";
  return text + "}}";
}

std::string sum(CFile& file, const fk_sum& one) {
  std::string terms;
  for (const fk_term& term : std::span(one.terms, one.count)) {
    std::string names;
    for (const std::uint8_t name : std::span(term.names, term.name_count))
      names += number(name) + ",";
    const std::string pointed = file.add("uint8_t", names);
    terms += "{" + integer(term.factor) + "," + std::to_string(term.loop) + "," +
             number(term.name_count) + "," + pointed + "},";
  }
  const std::string pointed = file.add("struct fk_term", terms);
  return "{" + number(one.count) + "," + pointed + "}";
}

std::string operation(CFile& file, const fk_operation& one) {
  std::string nodes;
  for (const fk_node& node : std::span(one.nodes, one.node_count)) {
    const std::string offset = sum(file, node.offset);
    const std::string bytes = sum(file, node.bytes);
    nodes +=
        "{" + number(node.kind) + "," + offset + "," + bytes + "," + number(node.partner) + "},";
  }
  const std::string listed = file.add("struct fk_node", nodes);
  const std::string calls = distribution(file, one.calls);
  const std::string size = distribution(file, one.size);
  return "{\"" + std::string(one.name) + "\"," + number(one.what) + "," + number(one.when) + "," +
         number(one.every) + "," + number(one.from) + "," + number(one.first_rank) + "," +
         number(one.end_rank) + "," + number(one.stride) + "," + number(one.unit_bytes) + "," +
         std::to_string(one.has_size) + "," + calls + "," + size + "," + number(one.node_count) +
         "," + listed + "},";
}

std::string names(CFile& file, const fk_kernel& kernel) {
  std::string items;
  for (const fk_expression& name : std::span(kernel.names, kernel.name_count)) {
    std::string tokens;
    for (const fk_token& token : std::span(name.tokens, name.count))
      tokens += "{" + number(token.kind) + "," + integer(token.value) + "},";
    const std::string pointed = file.add("struct fk_token", tokens);
    items += "{" + number(name.count) + "," + pointed + "},";
  }
  return file.add("struct fk_expression", items);
}

std::string source_of(const fk_kernel& kernel, const std::vector<std::string>& backends) {
  CFile file;
  file.append("/* The kernel " + std::string(kernel.name) +
              ", written by forebay kernel emit. */\n#include \"backend.h\"\n\n");
  std::string items;
  for (const fk_operation& one : std::span(kernel.operations, kernel.operation_count))
    items += operation(file, one);
  const std::string operations = file.add("struct fk_operation", items);
  const std::string expressions = names(file, kernel);
  const std::string compute = distribution(file, kernel.compute_s);
  file.append("\nconst struct fk_kernel fk_emitted = {\"" + std::string(kernel.name) + "\"," +
              number(kernel.writers) + "," + number(kernel.steps) + ",UINT64_C(" +
              number(kernel.seed) + ")," + compute + "," + number(kernel.name_count) + "," +
              expressions + "," + number(kernel.operation_count) + "," + operations + "};\n");
  file.append("\nconst struct fk_backend* const fk_backends[] = {");
  for (const std::string& name : backends)
    file.append("&fk_" + name + ", ");
  file.append("0};\n");
  return file.text();
}

}  // namespace

Result<nlohmann::json> emit(const fk_kernel& kernel,
                            const std::vector<std::string>& backends,
                            const std::string& directory) {
  const std::string path = directory + "/kernel_data.c";
  const std::string text = source_of(kernel, backends);
  auto file = command::AtomicFile::create(path);
  if (!file) return failure(file.error());
  if (Status written = file->write(0, std::as_bytes(std::span(text))); !written)
    return failure(written.error());
  if (Status published = file->publish(); !published) return failure(published.error());
  return nlohmann::json{{"file", path}};
}

}  // namespace forebay::kernel
