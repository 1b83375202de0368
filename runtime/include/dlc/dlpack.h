// Tensors of other libraries as arrays of a run, and tensors of the library's for others, by DLPack
// and without a copy: of LibTorch, CuPy, JAX and whatever else has DLPack's structs.
//
//   auto image = dlc::DLPackArray::take("image", at::toDLPack(tensor), run);
//   if (image.ok())
//     auto report = run.step(std::vector<dlc::Array>{image->array(), label->array()});
//
// The structs are those of the header that the program has included, <dlpack/dlpack.h> or
// <ATen/dlpack.h>: DLManagedTensor, or DLManagedTensorVersioned of DLPack 1. This header includes
// none. DLPack says nothing of streams here: Run::setStream() does.
//
// Ownership: said at each function. Threads: distinct objects from distinct threads. Failure: as
// all of the library's; a tensor that is refused has been given back to its owner.
#ifndef DLC_DLPACK_H
#define DLC_DLPACK_H

#include "dlc/run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlc::runtime {

/// The codes of DLPack's enumerations, in every version of its header.
namespace dlpack {
inline constexpr int cpu = 1, cuda = 2, cudaHost = 3;
inline constexpr unsigned majorVersion = 1, minorVersion = 0, readOnlyFlag = 1;
struct Dtype {
  dlc_dtype dtype;
  uint8_t code, bits;
};
inline constexpr Dtype dtypes[] = {{DLC_F32, 2, 32},  {DLC_F64, 2, 64}, {DLC_F16, 2, 16},
                                   {DLC_BF16, 4, 16}, {DLC_I32, 0, 32}, {DLC_I64, 0, 64},
                                   {DLC_U8, 1, 8},    {DLC_BOOL, 6, 8}};

/// Whether elements lie row by row and without gaps.
template <typename Tensor> bool isRowMajor(const Tensor &tensor) {
  const auto *shape = tensor.shape;
  int64_t expected = 1;
  if (!tensor.strides || std::find(shape, shape + tensor.ndim, 0) != shape + tensor.ndim)
    return true;
  for (auto i = tensor.ndim; i-- > 0; expected *= shape[i])
    if (shape[i] != 1 && tensor.strides[i] != expected)
      return false;
  return true;
}
} // namespace dlpack

/// A tensor of another library's, kept as long as this or a copy of it lives.
class DLPackArray {
public:
  /// Takes the tensor, which is given back by its deleter, with the last copy or where this fails.
  /// Fails with InvalidArgument unless it is row-major and without gaps, of a dtype that dlc has,
  /// and in memory that the run can take: the host's, pinned memory included, or that of the CUDA
  /// device of the run; with Unsupported if it is of a later DLPack than 1.
  template <typename Managed>
  static Result<DLPackArray> take(std::string name, Managed *tensor, const Run &run) {
    const std::shared_ptr<Managed> owner(tensor, [](Managed *owned) {
      if (owned && owned->deleter)
        owned->deleter(owned);
    });
    const std::string what = "tensor '" + name + "' ";
    if (!tensor)
      return refuse(what + "is null");
    bool readOnly = false;
    if constexpr (requires { tensor->version.major; }) {
      if (tensor->version.major > dlpack::majorVersion)
        return Status(StatusCode::Unsupported, what + "is of DLPack " +
                                                   std::to_string(tensor->version.major) +
                                                   ", which dlc does not know");
      readOnly = (tensor->flags & dlpack::readOnlyFlag) != 0;
    }
    const auto &content = tensor->dl_tensor;
    if (content.ndim < 0 || content.ndim > DLC_MAX_RANK)
      return refuse(what + "has " + std::to_string(content.ndim) + " axes, at most " +
                    std::to_string(DLC_MAX_RANK));
    const auto dtype = std::find_if(
        std::begin(dlpack::dtypes), std::end(dlpack::dtypes), [&](const dlpack::Dtype &each) {
          return content.dtype.code == each.code && content.dtype.bits == each.bits &&
                 content.dtype.lanes == 1;
        });
    if (dtype == std::end(dlpack::dtypes))
      return refuse(what + "has a dtype that dlc has not; there are: float32, float64, float16, "
                           "bfloat16, int32, int64, uint8, bool");
    if (!dlpack::isRowMajor(content))
      return refuse(what + "has gaps or is not row-major: make it contiguous first");
    Result<Place> place =
        placeOf(what, static_cast<int>(content.device.device_type), content.device.device_id, run);
    if (!place.ok())
      return place.takeStatus();
    const auto *data = static_cast<const char *>(content.data) + content.byte_offset;
    return DLPackArray({std::move(name),
                        dtype->dtype,
                        {content.shape, content.shape + content.ndim},
                        data,
                        *place},
                       readOnly, owner);
  }

  /// What the library reads.
  const Array &array() const { return read; }
  /// What it writes. Fails with InvalidArgument if the tensor says that it is read only.
  Result<OutputArray> output() const {
    if (readOnly)
      return refuse("tensor '" + read.name + "' is read only");
    return OutputArray{read.name, read.dtype, read.shape, const_cast<void *>(read.data),
                       read.place};
  }

private:
  DLPackArray(Array read, bool readOnly, std::shared_ptr<void> owner)
      : read(std::move(read)), readOnly(readOnly), owner(std::move(owner)) {}

  static Status refuse(std::string message) {
    return Status(StatusCode::InvalidArgument, std::move(message));
  }

  static Result<Place> placeOf(const std::string &what, int type, int device, const Run &run) {
    if (type == dlpack::cpu || type == dlpack::cudaHost)
      return Place::Host;
    if (type != dlpack::cuda)
      return refuse(what + "lies on a device of DLPack's type " + std::to_string(type) +
                    "; dlc takes memory of the host and of CUDA devices");
    const std::optional<int> own = cudaOrdinal(*run.state()->device());
    if (own == device)
      return Place::Device;
    return refuse(what + "lies on CUDA device " + std::to_string(device) + ", the run is on " +
                  (own ? "device " + std::to_string(*own) : "the host: copy it there first"));
  }

  Array read;
  bool readOnly;
  std::shared_ptr<void> owner;
};

/// A tensor that predict() gave as one of DLPack: as dlpackOf<DLManagedTensor>(std::move(tensor)).
/// Its deleter, called by who takes it, frees it.
template <typename Managed> Managed *dlpackOf(Tensor tensor) {
  struct Owner {
    Tensor tensor;
    std::vector<int64_t> shape, strides;
    Managed managed = {};
  };
  auto owner = std::make_unique<Owner>();
  owner->tensor = std::move(tensor);
  owner->shape.assign(owner->tensor.shape.begin(), owner->tensor.shape.end());
  owner->strides.assign(owner->shape.size(), 1);
  for (size_t i = owner->shape.size(); i-- > 1;)
    owner->strides[i - 1] = owner->strides[i] * owner->shape[i];
  const auto *dtype =
      std::find_if(std::begin(dlpack::dtypes), std::end(dlpack::dtypes),
                   [&](const dlpack::Dtype &each) { return each.dtype == owner->tensor.dtype; });
  Managed &managed = owner->managed;
  auto &content = managed.dl_tensor;
  content.data = owner->tensor.bytes.data();
  content.device.device_type = static_cast<decltype(content.device.device_type)>(dlpack::cpu);
  content.ndim = static_cast<decltype(content.ndim)>(owner->shape.size());
  content.dtype.code = dtype->code;
  content.dtype.bits = dtype->bits;
  content.dtype.lanes = 1;
  content.shape = owner->shape.data();
  content.strides = owner->strides.data();
  managed.manager_ctx = owner.get();
  managed.deleter = [](Managed *owned) { delete static_cast<Owner *>(owned->manager_ctx); };
  if constexpr (requires { managed.version.major; }) {
    managed.version.major = dlpack::majorVersion;
    managed.version.minor = dlpack::minorVersion;
  }
  return &owner.release()->managed;
}

} // namespace dlc::runtime

namespace dlc {
using runtime::DLPackArray, runtime::dlpackOf;
} // namespace dlc

#endif
