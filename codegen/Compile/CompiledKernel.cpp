//===- CompiledKernel.cpp - see CompiledKernel.h ----------------------------------------------===//
#include "codegen/Compile/CompiledKernel.h"
#include "codegen/Compile/KernelCache.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dlc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

std::string SelectedKernel::keyText() const { return hexadecimal(key); }

SmallVector<unsigned> SelectedKernel::launches() const {
  SmallVector<unsigned> numbers;
  for (auto [number, phase] : llvm::enumerate(candidate.phases))
    if (!phase.call)
      numbers.push_back(number);
  return numbers;
}

dlc::program::CandidateAttr SelectedKernel::asAttr(mlir::MLIRContext *context) const {
  mlir::Builder builder(context);
  return dlc::program::CandidateAttr::get(
      context, builder.getStringAttr(generator->name()), builder.getStringAttr(candidate.schedule),
      builder.getF64FloatAttr(candidate.cost), int64_t(candidate.allWorkspaceBytes()),
      !candidate.inPlace);
}

std::string KernelImage::serialise() const {
  std::string text = llvm::formatv("{0} {1}", unsigned(kind), architecture);
  for (const FunctionFigures &f : figures)
    text += llvm::formatv(" {0} {1} {2}", f.registers, f.spillBytes, f.sharedBytes);
  return text + "\n" + bytes;
}

std::optional<KernelImage> KernelImage::deserialise(StringRef text) {
  auto [line, bytes] = text.split('\n');
  llvm::SmallVector<uint32_t> numbers;
  for (StringRef word : llvm::split(line, ' '))
    if (word.getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  if (numbers.size() < 2 || numbers.size() % 3 != 2)
    return std::nullopt;
  KernelImage image{dlc_image_kind(numbers[0]), numbers[1], bytes.str(), {}};
  for (size_t i = 2; i < numbers.size(); i += 3)
    image.figures.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return image;
}
