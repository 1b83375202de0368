//===- Sources.cpp - see Sources.h ------------------------------------------------------------===//
#include "codegen/CUDA/Text/Sources.h"
#include "codegen/CUDA/Text/CudaText.h"

using namespace dlc::codegen;
using llvm::StringRef;

namespace {
struct EmbeddedText {
  const char *file, *text;
};
} // namespace

static const EmbeddedText texts[] = {
#include "Texts.inc"
};

StringRef dlc::codegen::embeddedText(StringRef file) {
  for (const EmbeddedText &embedded : texts)
    if (file == embedded.file)
      return embedded.text;
  llvm_unreachable("every text that is asked for is embedded");
}

std::string dlc::codegen::includesOf(llvm::ArrayRef<std::string> headers) {
  std::string text;
  for (const std::string &header : headers)
    text += "#include <" + header + ">\n";
  return text;
}

CudaSource dlc::codegen::nameFunctions(const Candidate &candidate, StringRef symbol) {
  const CudaText &text = *candidate.text;
  CudaSource source = {text.headers, text.skeletons, text.problem, text.parameters, {}, {}};
  for (const CudaText::Function &function : text.functions) {
    source.functions.push_back(phaseSymbol(symbol, candidate, function.phase));
    source.text += function.head + source.functions.back() + function.tail;
    source.threads.push_back(function.threads);
  }
  return source;
}

std::string dlc::codegen::completeText(const CudaSource &source, bool lineMarkers) {
  std::string text = includesOf(source.headers);
  for (const std::string &skeleton : source.skeletons) {
    std::string file = skeleton + ".cuh";
    if (lineMarkers)
      text += "#line 1 \"" + file + "\"\n";
    text += embeddedText(file).str() + "\n";
  }
  if (lineMarkers && !source.functions.empty())
    text += "#line 1 \"" + source.functions.front() + ".cu\"\n";
  return text + source.text;
}
