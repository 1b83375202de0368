//===- Engines.cpp - see Engines.h ------------------------------------------------------------===//
#include "tools/dlc/Engines.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Json.h"
#include "runtime/Device/CUDA/Engines.h"

namespace json = llvm::json;

namespace dlc::tool {

/// cuDNN's text of the device.
static llvm::Expected<std::string> readProperties(llvm::StringRef file) {
  constexpr uint64_t limit = 1 << 20;
  auto content = runtime::readWholeFile(file.str(), limit);
  if (!content.ok())
    return llvm::createStringError("--cudnn-device: " + std::string(content.status().message()));
  llvm::StringRef text(reinterpret_cast<const char *>(content->data()), content->size());
  if (runtime::Status deep = runtime::checkJsonDepth(text).in(file); !deep.ok())
    return llvm::createStringError("--cudnn-device: " + std::string(deep.message()));
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return llvm::createStringError("--cudnn-device: " + file.str() +
                                   ": expected the JSON that dlc-run device prints of a GPU");
  }
  if (const json::Object *object = value->getAsObject())
    if (const json::Value *inner = object->get("cudnn"))
      return llvm::formatv("{0}", *inner).str();
  return text.str();
}

llvm::Expected<EngineChooser> openEngines(llvm::StringRef file) {
  llvm::Expected<std::string> properties = readProperties(file);
  if (!properties)
    return properties.takeError();
  auto chooser = runtime::openEngineChooser(*properties);
  if (!chooser.ok())
    return llvm::createStringError("--cudnn-device: " + std::string(chooser.status().message()));
  return [choose = chooser.take()](
             const dlc_library_call &call) -> std::optional<codegen::LibraryEngine> {
    auto engine = choose(call);
    if (!engine.ok())
      return std::nullopt;
    return codegen::LibraryEngine{engine->numbers, engine->workspaceBytes};
  };
}

} // namespace dlc::tool
