// multi_tensor: one element-wise function over many tensors at once, the optimizer's update.
//
//   Tensor i lies at the same place in the flat buffers of all streams: elements offset ..
//   offset + size - 1, offset a multiple of 16. What lies between tensors is not touched.
//
//   TENSORS                     a Tensor each, in the order of their blocks
//   P::COUNT, CHUNK             tensors; elements of a block, a multiple of 4
//   p.four(i, tensor)           updates elements i to i + 3 of the flat buffers
//   p.one(i, tensor)            updates element i
struct Tensor {
  int firstBlock, offset, size;
};

template <class P> __device__ void multiTensor(const P &p, const Tensor *tensors) {
  // The last tensor that begins at or before this block.
  int low = 0, high = P::COUNT;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (tensors[middle].firstBlock <= int(blockIdx.x))
      low = middle;
    else
      high = middle;
  }
  Tensor t = tensors[low];
  int first = (blockIdx.x - t.firstBlock) * P::CHUNK;
  int last = first + P::CHUNK < t.size ? first + P::CHUNK : t.size;
  for (int i = first + threadIdx.x * 4; i < last; i += P::THREADS * 4) {
    if (i + 4 <= last)
      p.four(t.offset + i, low);
    else
      for (int tail = i; tail < last; ++tail)
        p.one(t.offset + tail, low);
  }
}
