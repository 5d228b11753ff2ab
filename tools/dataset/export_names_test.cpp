// SPDX-License-Identifier: Apache-2.0
#include "tools/dataset/export_names.hpp"

#include <gtest/gtest.h>

namespace forebay::dataset_tool {
namespace {

TEST(NodeName, does_not_change_plain_names) {
  EXPECT_EQ(node_name("velocity"), "velocity");
  EXPECT_EQ(node_name("a.b c"), "a.b c");
  EXPECT_EQ(node_name("Größe"), "Größe");
}

TEST(NodeName, is_one_component_of_a_path) {
  EXPECT_EQ(node_name("flow/velocity"), "flow%2Fvelocity");
  EXPECT_EQ(node_name("a\\b"), "a%5Cb");
  EXPECT_EQ(node_name(".zarray"), "%2Ezarray");
  EXPECT_EQ(node_name(".."), "%2E.");
}

TEST(NodeName, is_different_for_different_fields) {
  EXPECT_NE(node_name("a/b"), node_name("a%2Fb"));
}

TEST(NumpyType, encodes_order_kind_and_size) {
  EXPECT_EQ(numpy_type(ElementType::kFloat64, ByteOrder::kLittle), "<f8");
  EXPECT_EQ(numpy_type(ElementType::kFloat16, ByteOrder::kBig), ">f2");
  EXPECT_EQ(numpy_type(ElementType::kInt8, ByteOrder::kBig), "|i1");
  EXPECT_EQ(numpy_type(ElementType::kUint32, ByteOrder::kLittle), "<u4");
  EXPECT_EQ(numpy_type(ElementType::kComplex64, ByteOrder::kLittle), "<c8");
  EXPECT_EQ(numpy_type(ElementType::kComplex128, ByteOrder::kLittle), "<c16");
  EXPECT_EQ(numpy_type(ElementType::kBytes, ByteOrder::kLittle), "|u1");
}

}  // namespace
}  // namespace forebay::dataset_tool
