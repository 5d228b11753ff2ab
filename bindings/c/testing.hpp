// SPDX-License-Identifier: Apache-2.0
// Fixtures of the tests of the C interface: a runtime, a file of numbers, and checks of a status
// with the text of its error.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <forebay.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"

namespace forebay::bindings {

/// Success of a call whose last argument is `error`; on failure the message is printed.
#define FOREBAY_EXPECT_OK(call) EXPECT_EQ((call), FOREBAY_OK) << error.message
#define FOREBAY_ASSERT_OK(call) ASSERT_EQ((call), FOREBAY_OK) << error.message

inline bool has_text(const forebay_error& error, const std::string& text) {
  return std::string(error.message).find(text) != std::string::npos;
}

/// A runtime without environment, in a directory of its own.
struct CRuntimeFixture : ::testing::Test {
  CRuntimeFixture() { EXPECT_EQ(forebay_runtime_create(nullptr, &runtime, &error), FOREBAY_OK); }
  ~CRuntimeFixture() override { forebay_runtime_destroy(runtime); }

  TemporaryDirectory directory;
  forebay_error error{};
  forebay_runtime* runtime = nullptr;
};

inline constexpr std::uint64_t kNumbers = 200'000;

/// Also a file of the 64-bit numbers 0, 1, 2, ... and a session on it.
struct CSessionFixture : CRuntimeFixture {
  CSessionFixture() : path(directory / "numbers") {
    std::vector<std::uint64_t> numbers(kNumbers);
    for (std::uint64_t i = 0; i < kNumbers; ++i)
      numbers[i] = i;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(numbers.data()), kNumbers * 8);
    EXPECT_EQ(forebay_file_open(runtime, path.c_str(), &file, &error), FOREBAY_OK);
    EXPECT_EQ(forebay_session_open(file, {0, FOREBAY_ALL}, nullptr, &session, &error), FOREBAY_OK);
  }
  ~CSessionFixture() override {
    forebay_session_close(session);
    forebay_file_close(file);
  }

  std::string path;
  forebay_file* file = nullptr;
  forebay_session* session = nullptr;
};

}  // namespace forebay::bindings
