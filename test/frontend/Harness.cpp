// See Harness.h.
#include "test/frontend/Harness.h"

#include "dialects/DL/Ops/DLVariableOps.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace dlc::frontend::test {

Compiled::Compiled(llvm::StringRef text, FrontendOptions options) {
  result = compile(sources, sources.add("test.dl", text), options, context, engine);
}

std::string Compiled::diagnostics() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  render(engine, sources, out);
  return text;
}

std::string Compiled::module() const {
  if (!result)
    return diagnostics();
  std::string text;
  llvm::raw_string_ostream out(text);
  result.get()->print(out);
  return text;
}

std::vector<std::string> Compiled::weights() {
  std::vector<std::string> names;
  if (!result)
    return {diagnostics()};
  for (auto variable : result->getOps<dl::VariableOp>()) {
    std::string shape;
    for (int64_t size : variable.getTensorType().getShape())
      shape += (shape.empty() ? "" : "x") + std::to_string(size);
    names.push_back(variable.getSymName().str() + " " + shape);
  }
  return names;
}

std::string inModel(llvm::StringRef body) {
  std::string text = "model M(x: f32[N, 3, 8, 8]) -> f32[N, 10] {\n";
  llvm::SmallVector<llvm::StringRef> lines;
  body.split(lines, '\n');
  for (llvm::StringRef line : lines)
    text += "  " + line.str() + "\n";
  return text + R"(  return x |> flatten |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)";
}

void checkErrors(llvm::ArrayRef<ErrorCase> cases, std::string (*wrap)(llvm::StringRef)) {
  for (const ErrorCase &each : cases) {
    FrontendOptions options;
    options.defines = each.defines;
    Compiled compiled(wrap ? wrap(each.text) : each.text.str(), options);
    EXPECT_EQ(compiled.diagnostics(), each.expected) << each.name;
    EXPECT_FALSE(compiled.result) << each.name;
  }
}

} // namespace dlc::frontend::test
