// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/kernel_plan.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "push/parametric_signature.hpp"
#include "tools/kernel/expression.hpp"

namespace forebay::kernel {

namespace {

using nlohmann::json;

constexpr std::array<const char*, 11> kFamilies = {"constant",  "uniform", "normal", "exponential",
                                                   "lognormal", "gamma",   "table",  "quantiles",
                                                   "mixture",   "walkers", "replay"};
constexpr std::array<const char*, 3> kDrawn = {"call", "step", "writer"};
constexpr std::array<const char*, 4> kWhen = {"each", "before", "first", "last"};
/// Names that every kernel has.
const std::vector<std::string> kRankNames = {"rank", "writers", "step"};

/// The value whose name is `text`.
template <class Enum, std::size_t N>
Enum value_of(const std::array<const char*, N>& names, const std::string& text) {
  const auto* const found = std::ranges::find(names, std::string_view(text));
  if (found == names.end()) throw json::other_error::create(501, "unknown word " + text, nullptr);
  return static_cast<Enum>(found - names.begin());
}

Error invalid(const std::string& place, const std::string& cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "read the kernel",
                .path = place,
                .cause = cause});
}

}  // namespace

const char* KernelPlan::keep(std::string text) {
  return texts_.emplace_back(std::move(text)).c_str();
}

fk_distribution KernelPlan::make_distribution(const json& document) {
  fk_distribution made{};
  made.family = value_of<fk_family>(kFamilies, document.at("family"));
  made.drawn = value_of<fk_drawn>(kDrawn, document.at("drawn"));
  const auto& parameters = document.at("parameters");
  for (std::size_t i = 0; i < parameters.size() && i < std::size(made.parameters); ++i)
    made.parameters[i] = parameters[i];
  made.balance = document.value("balance", 1U);
  std::vector<double> values = document.value("values", std::vector<double>());
  std::vector<double> weights = document.value("weights", std::vector<double>());
  std::vector<fk_distribution> parts;
  for (const json& part : document.value("parts", json::array()))
    parts.push_back(make_distribution(part));
  made.count = std::max(values.size(), parts.size());
  made.values = keep(numbers_, std::move(values));
  made.weights = keep(numbers_, std::move(weights));
  made.parts = keep(parts_, std::move(parts));
  const auto shape = document.value("shape", std::vector<std::uint32_t>());
  std::copy_n(shape.begin(), std::min(shape.size(), std::size(made.shape)), made.shape);
  return made;
}

Status KernelPlan::add_name(const json& document, std::vector<std::string>& names) {
  auto tokens = parse_expression(document.at("expression"), names);
  if (!tokens)
    return failure(
        invalid("names." + document.at("name").get<std::string>(), tokens.error().message()));
  const std::size_t count = tokens->size();
  expressions_.push_back({count, keep(tokens_, std::move(*tokens))});
  names.push_back(document.at("name"));
  return {};
}

/// The parser accepts reads alone; the word has no other meaning here.
Status KernelPlan::add_offsets(std::string text,
                               const std::vector<std::string>& names,
                               fk_operation& into) {
  if (text.starts_with("write")) text.replace(0, 5, "read ");
  auto parsed = push::parse_parametric_signature(std::move(text), names);
  if (!parsed) return failure(parsed.error());
  const auto sum_of = [&](const push::ParametricNumber& number) {
    std::vector<fk_term> terms;
    for (const push::ParametricTerm& term : number) {
      const push::Product& product = parsed->products.at(term.product);
      const bool has_variable = term.depth != push::ParametricTerm::kNoVariable;
      terms.push_back({term.factor, has_variable ? std::int32_t{term.depth} : -1, product.size(),
                       keep(products_, product)});
    }
    const std::size_t count = terms.size();
    return fk_sum{count, keep(terms_, std::move(terms))};
  };
  std::vector<fk_node> nodes;
  for (const push::ParametricNode& node : parsed->nodes) {
    const bool is_access = node.kind == push::ParametricNode::Kind::kAccess;
    nodes.push_back({static_cast<fk_node_kind>(node.kind),
                     sum_of(is_access ? node.offset : node.count), sum_of(node.size),
                     node.partner});
  }
  into.node_count = nodes.size();
  into.nodes = keep(nodes_, std::move(nodes));
  return {};
}

Status KernelPlan::add_operation(const json& document, const std::vector<std::string>& names) {
  fk_operation made{};
  const std::string name = document.at("name");
  made.name = keep(name);
  made.what = document.at("do") == "write" ? FK_WRITE : FK_READ;
  made.when = value_of<fk_when>(kWhen, document.at("when"));
  made.every = document.at("every");
  made.from = document.value("from", 0U);
  made.first_rank = document.at("ranks").at(0);
  made.end_rank = document.at("ranks").at(1);
  made.stride = document.at("ranks").at(2);
  made.unit_bytes = document.at("unit_bytes");
  made.calls = make_distribution(document.at("calls"));
  made.has_size = document.contains("size") ? 1 : 0;
  if (made.has_size != 0) made.size = make_distribution(document.at("size"));
  if (document.contains("offsets")) {
    if (Status added = add_offsets(document.at("offsets"), names, made); !added)
      return failure(invalid("operation " + name, added.error().message()));
  }
  operations_.push_back(made);
  return {};
}

Result<KernelPlan> KernelPlan::parse(const json& document) {
  KernelPlan plan;
  std::vector<std::string> names = kRankNames;
  try {
    for (const json& name : document.at("names"))
      if (Status added = plan.add_name(name, names); !added) return failure(added.error());
    for (const json& operation : document.at("operations"))
      if (Status added = plan.add_operation(operation, names); !added)
        return failure(added.error());
    *plan.kernel_ = {.name = plan.keep(document.at("name").get<std::string>()),
                     .writers = document.at("writers"),
                     .steps = document.at("steps"),
                     .seed = document.at("seed"),
                     .compute_s = plan.make_distribution(document.at("compute_s")),
                     .name_count = plan.expressions_.size(),
                     .names = plan.expressions_.data(),
                     .operation_count = plan.operations_.size(),
                     .operations = plan.operations_.data()};
  } catch (const json::exception& wrong) {
    return failure(invalid("plan", wrong.what()));
  }
  return plan;
}

Result<KernelPlan> KernelPlan::read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const json document = json::parse(file, nullptr, false);
  if (document.is_discarded()) return failure(invalid(path.string(), "it is no JSON document"));
  return parse(document);
}

}  // namespace forebay::kernel
