// See Windows.h.
#include "frontend/DL/Builtins/Windows.h"

namespace dlc::frontend {

/// Far beyond any tensor, small enough that sums of products of two stay in 64 bits.
static constexpr int64_t maxWindowNumber = 1 << 30;

/// The words that others have for it.
static llvm::StringRef hintForPadding(const Value &padding) {
  const std::string *word = padding.getIf<std::string>();
  if (!word)
    return "";
  llvm::StringRef text = *word;
  return text.equals_insensitive("same")    ? "\"same\""
         : text.equals_insensitive("valid") ? "0, which is the default"
                                            : "";
}

/// "same", one number, one an axis, or (before, after) an axis.
static bool readPadding(Call &call, unsigned spatial, Window &window) {
  const Value &padding = call.value("padding");
  auto isCount = [](const Value &v) {
    return v.isInteger() && v.integer() >= 0 && v.integer() <= maxWindowNumber;
  };
  if (auto *word = padding.getIf<std::string>(); word && *word == "same") {
    for (size_t i = 0; i < spatial; ++i) {
      int64_t total = window.extent(i) - 1;
      if (window.strides[i] != 1) {
        call.fail("padding",
                  "padding \"same\" needs stride 1, found " + llvm::Twine(window.strides[i]));
        return false;
      }
      window.padding.append({total / 2, total - total / 2});
    }
    return true;
  }
  if (isCount(padding)) {
    window.padding.assign(2 * spatial, padding.integer());
    return true;
  }
  bool valid = padding.isSequence() && padding.items().size() == spatial;
  for (size_t i = 0; valid && i < spatial; ++i) {
    const Value &item = padding.items()[i];
    bool sides =
        item.isSequence() && item.items().size() == 2 && llvm::all_of(item.items(), isCount);
    if (isCount(item))
      window.padding.append({item.integer(), item.integer()});
    else if (sides)
      window.padding.append({item.items()[0].integer(), item.items()[1].integer()});
    valid = isCount(item) || sides;
  }
  if (!valid)
    call.fail("padding",
              "'padding' is an integer of 0 or more, one for each of the " + llvm::Twine(spatial) +
                  " axes, (before, after) for each, or \"same\", found " + describe(padding),
              hintForPadding(padding));
  return valid;
}

bool readWindow(Call &call, unsigned spatial, Window &window) {
  if (!call.integers("kernel", spatial, 1, window.kernel))
    return false;
  // Pooling's stride is the kernel where none is given.
  if (call.isNone("stride"))
    window.strides.assign(window.kernel.begin(), window.kernel.end());
  else if (!call.integers("stride", spatial, 1, window.strides))
    return false;
  if (!call.integers("dilation", spatial, 1, window.dilations))
    return false;
  for (auto [name, numbers] : {std::pair{"kernel", llvm::ArrayRef(window.kernel)},
                               {"stride", llvm::ArrayRef(window.strides)},
                               {"dilation", llvm::ArrayRef(window.dilations)}})
    for (int64_t number : numbers)
      if (number > maxWindowNumber) {
        call.fail(name, "'" + llvm::Twine(name) + "' is " + llvm::Twine(number) +
                            ", the largest is " + llvm::Twine(maxWindowNumber));
        return false;
      }
  return readPadding(call, spatial, window);
}

bool checkWindowFits(Call &call, const Tensor &x, const Window &window) {
  llvm::SmallVector<int64_t> extents, padded;
  bool fits = true;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    extents.push_back(window.extent(i));
    padded.push_back(x.shape()[i + 2] + window.padding[2 * i] + window.padding[2 * i + 1]);
    fits &= extents.back() <= padded.back();
  }
  if (fits)
    return true;
  std::string sizes = joinSizes(x.shape().drop_front(2));
  std::string dilated = llvm::ArrayRef<int64_t>(extents) == llvm::ArrayRef<int64_t>(window.kernel)
                            ? ""
                            : " with dilation";
  call.evaluator
      .errorAbout(call.rangeOf("kernel"),
                  "kernel " + joinSizes(extents) + dilated + " is larger than the padded input " +
                      joinSizes(padded),
                  x, sizes)
      // As TensorFlow lays images: [N, height, width, channels].
      .hint(x.rank() == 4 && x.shape().back() <= 4 && extents.front() <= padded.front()
                ? "images are [N, channels, height, width]"
                : "");
  return false;
}

bool checkWindowsMeetInput(Call &call, const Tensor &x, const Window &window,
                           llvm::ArrayRef<int64_t> sizes) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t input = x.shape()[i + 2], dilation = window.dilations[i];
    for (int64_t position = 0; position < sizes[i]; ++position) {
      // The first element of the window that does not lie before the input.
      int64_t begin = position * window.strides[i] - window.padding[2 * i];
      int64_t before = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
      if (before < window.kernel[i] && begin + before * dilation < input)
        continue;
      call.evaluator
          .errorAbout(call.rangeOf("kernel"),
                      "window " + llvm::Twine(position) + " of axis " + llvm::Twine(i + 2) +
                          " of " + call.label + " has no element of the input, only padding",
                      x, joinSizes(x.shape().drop_front(2)))
          .hint(dilation > 1 ? "a smaller dilation or padding" : "a smaller padding");
      return false;
    }
  }
  return true;
}

llvm::SmallVector<int64_t, 3> outputSizes(const Tensor &x, const Window &window, bool ceil) {
  llvm::SmallVector<int64_t, 3> sizes;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    int64_t input = x.shape()[i + 2], low = window.padding[2 * i], high = window.padding[2 * i + 1];
    int64_t stride = window.strides[i], span = input + low + high - window.extent(i);
    int64_t size = span / stride + 1;
    if (ceil && span % stride != 0 && size * stride < input + low)
      ++size;
    sizes.push_back(size);
  }
  return sizes;
}

} // namespace dlc::frontend
