//===- TensorFile.cpp - the interpreter's tensors in safetensors files ------------------------===//
#include "test/lib/Interpreter/TensorFile.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"

using namespace dlc::runtime;

namespace dlc::interpreter {

Status readTensors(const std::string &path, Tensors &tensors) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  for (const StoredTensor &stored : file.tensors()) {
    Tensor tensor = Tensor::filled(Shape(stored.shape.begin(), stored.shape.end()), 0);
    std::vector<std::byte> bytes(stored.bytes);
    DLC_TRY(file.read(stored, bytes));
    for (size_t i = 0; i < tensor.values.size(); ++i)
      tensor.values[i] = loadElement(stored.dtype, &bytes[i * dtypeSize(stored.dtype)]);
    tensors[stored.name] = std::move(tensor);
  }
  return Status();
}

Status writeTensors(const std::string &path, const Tensors &tensors) {
  std::vector<StoredTensor> announced;
  for (const auto &[name, tensor] : tensors)
    announced.push_back(
        {name, DLC_F64, std::vector<uint64_t>(tensor.shape.begin(), tensor.shape.end()), 0, 0});
  DLC_TRY_ASSIGN(writer, SafetensorsWriter::create(path, announced, {}));
  for (const auto &[name, tensor] : tensors)
    DLC_TRY(writer.append(std::as_bytes(std::span(tensor.values))));
  return writer.commit();
}

} // namespace dlc::interpreter
