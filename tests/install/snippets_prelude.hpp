// SPDX-License-Identifier: Apache-2.0
// Names that snippets of pages use and do not declare: the program around a snippet, and objects
// that an earlier snippet of the page opened. snippets_test.py compiles the snippets with them.
#pragma once

#include <forebay/forebay.hpp>
#include <forebay/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct Mesh {
  std::uint64_t number;
  std::uint64_t nodes;
  std::vector<double> velocity;
};

int print_error(const forebay::Error& error);
int finish(const forebay::Status& status);
int run(const forebay::File& file);
void compute();
void compute(std::span<std::byte> into);
void use(std::span<const std::byte> bytes);

extern int argc;
extern char** argv;
extern std::string path;
extern int tasks_left;
extern std::uint64_t offset;
extern std::uint64_t size;
extern std::uint64_t total;
extern std::uint64_t steps;
extern std::vector<std::byte> into;
extern std::vector<double> velocity;
extern std::vector<double> pressure;
extern std::vector<Mesh> my_parts;
extern forebay::Subarray block;
extern std::vector<forebay::Future<forebay::Receipt>> receipts;

extern forebay::Runtime runtime;
extern forebay::Result<forebay::DatasetReader> reader;
extern forebay::Result<forebay::DatasetWriter> writer;
extern forebay::Result<forebay::File> file;
extern forebay::Result<forebay::Session> session;
