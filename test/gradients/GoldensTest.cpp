//===- GoldensTest.cpp - the interpreter and the gradient rules against PyTorch ---------------===//
//
// Both compute in float64; the files hold PyTorch's numbers rounded once to float32, half a unit in
// 2^24. Limit: 1e-7 of the largest element.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Data/Safetensors.h"
#include "test/gradients/GoldenCases.h"
#include "test/gradients/ReverseMode.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::gradients;
using interpreter::Tensor;
using interpreter::Tensors;

static void expectNear(const Tensor &found, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  double largest = 0, error = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(expected.values[i]));
    error = std::max(error, std::fabs(found.values[i] - expected.values[i]));
  }
  EXPECT_LE(error, 1e-7 * largest) << what;
}

/// Compares output and gradients of one file; false if the dl dialect does not have the operation.
static bool checkCase(const std::string &path) {
  auto file = runtime::SafetensorsFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  Tensors tensors;
  EXPECT_TRUE(interpreter::readTensors(path, tensors).ok());
  GoldenEntry golden = goldenEntry(nlohmann::json::parse(file->metadata().at("case")), tensors);
  if (golden.text.empty())
    return false;
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(golden.text, &context);
  EXPECT_TRUE(module) << golden.text;
  if (!module)
    return true;
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();
  EXPECT_TRUE(succeeded(appendGradients(entry)));
  std::vector<Tensor> arguments;
  for (const std::string &name : golden.arguments)
    arguments.push_back(tensors.at(name));
  arguments.push_back(tensors.at("gradient.output"));
  auto results = interpreter::Interpreter().run(entry, arguments);
  EXPECT_TRUE(succeeded(results));
  expectNear(results->outputs[0], tensors.at("output"), "output");
  size_t output = 1;
  for (auto [i, name] : llvm::enumerate(golden.arguments))
    if (isFloatTensor(entry.getArgumentTypes()[i])) {
      const Tensor &found = results->outputs[output++];
      std::string gradient = "gradient." + name.substr(name.find('.') + 1);
      // Statistics have none there.
      if (name.find("running_") == std::string::npos)
        expectNear(found, tensors.at(gradient), gradient);
    }
  return true;
}

TEST(Goldens, OperationsAndTheirGradients) {
  int checked = 0;
  std::filesystem::path folder(DLC_REFERENCE_DATA "/goldens/ops");
  for (const auto &file : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(file.path().filename().string());
    if (file.path().extension() == ".safetensors")
      checked += checkCase(file.path().string());
  }
  EXPECT_GE(checked, 63);
  RecordProperty("cases", checked);
}
