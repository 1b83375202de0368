//===- KernelText.cpp - see KernelText.h ------------------------------------------------------===//
#include "codegen/CUDA/Text/KernelText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

void KernelText::constant(StringRef name, int64_t value) {
  body += ("  static constexpr int " + name + " = " + Twine(value) + ";\n").str();
}

void KernelText::flag(StringRef name, bool value) {
  body += ("  static constexpr bool " + name + " = " + (value ? "true" : "false") + ";\n").str();
}

void KernelText::type(StringRef name, StringRef text) {
  body += ("  using " + name + " = " + text + ";\n").str();
}

void KernelText::axis(StringRef name, const dl::WindowAxis &a) {
  std::string numbers;
  for (int64_t number : {a.input, a.output, a.kernel, a.stride, a.dilation, a.low, a.high})
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
  body += ("  static constexpr Axis " + name + " = {" + numbers + "};\n").str();
}

LogicalResult KernelText::add(DeviceFunction &function) {
  std::string text = function.print();
  body += text;
  return success(!text.empty());
}

void KernelText::phaseWithMembers(uint32_t threads, StringRef skeleton, StringRef members) {
  auto call = [skeleton = skeleton.str()](StringRef problem) {
    return skeleton + "(" + problem.str() + ")";
  };
  phases.push_back({threads, call, members.str()});
}

/// NVIDIA's headers for the types that `text` uses; others compile without.
static std::vector<std::string> headersOf(StringRef text) {
  std::vector<std::string> headers;
  for (auto [type, header] : {std::pair("__nv_bfloat16", "cuda_bf16.h"), {"__half", "cuda_fp16.h"}})
    if (text.contains(type))
      headers.push_back(header);
  return headers;
}

CudaText KernelText::finish() const {
  CudaText text;
  text.skeletons = {"common"};
  llvm::append_range(text.skeletons, skeletons);
  std::vector<std::string> names;
  unsigned operands = spec.operandTypes().size();
  for (auto [i, type] : llvm::enumerate(spec.operandTypes()))
    text.parameters.push_back("const " + storedTypeName(type.getElementType()));
  for (auto [i, type] : llvm::enumerate(spec.resultTypes()))
    text.parameters.push_back(storedTypeName(type.getElementType()));
  for (unsigned i = 0; i < operands + spec.resultTypes().size(); ++i)
    names.push_back(bufferName(spec, i));
  if (workspaceElement) {
    text.parameters.push_back(storedTypeName(workspaceElement));
    names.push_back("partial");
  }
  std::vector<std::string> parameters;
  for (auto [type, name] : llvm::zip_equal(text.parameters, names))
    parameters.push_back("Buffer<" + type + "> " + name);

  if (llvm::none_of(phases, [](const Phase &phase) { return bool(phase.call); })) {
    text.skeletons.clear();
    return text;
  }
  text.problem = declarations + "struct Problem {\n" + body;
  for (const std::string &parameter : parameters)
    text.problem += "  " + parameter + ";\n";
  text.problem += "};\n";
  std::string all = text.problem;
  for (auto [number, phase] : llvm::enumerate(phases)) {
    if (!phase.call)
      continue;
    std::string problem = "Problem{" + llvm::join(names, ", ") + "}", head;
    if (!phase.members.empty()) {
      std::string derived = "Phase" + std::to_string(number);
      head = "struct " + derived + " : Problem {\n" + phase.members + "};\n";
      problem = derived + "{" + problem + "}";
    }
    head +=
        "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(phase.threads) + ") ";
    text.functions.push_back(
        {unsigned(number), phase.threads, head,
         "(" + llvm::join(parameters, ", ") + ") {\n  " + phase.call(problem) + ";\n}\n"});
    all += head + text.functions.back().tail;
  }
  text.headers = headersOf(all);
  return text;
}
